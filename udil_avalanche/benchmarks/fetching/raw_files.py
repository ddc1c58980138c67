"""Data sets of a few raw files, and how a folder comes to hold them.

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
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pooch

from udil_avalanche.benchmarks.fetching.download import FetchError, fetch
from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.files import atomic_write

logger = logging.getLogger(__name__)

Source = Callable[[Path], None]

NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
"""The files of MNIST, and of every data set in its format."""

LARGEST_BYTES = 16 + 60_000 * 28 * 28
"""Size of the largest raw file; never unpack much more than that."""


class DataUnavailable(BadData):
    """No source has the files, or the data folder cannot be written to."""


@dataclass(frozen=True)
class RawFiles:
    """The raw files of a data set.

    :param title: what the data set is called in messages.
    :param sha256: the checksum of each file, unpacked, by its name.
    """

    title: str
    sha256: Mapping[str, str]

    def missing(self, folder: Path) -> list[str]:
        """Name the files that are missing from a folder or damaged there.

        :param folder: the folder.
        """
        return [
            name
            for name, sha256 in self.sha256.items()
            if not (folder / name).is_file() or pooch.file_hash(folder / name) != sha256
        ]

    def complete(
        self, folder: Path, sources: Iterable[Source]
    ) -> tuple[list[str], list[str]]:
        """Let one source after the other place what a folder lacks.

        :param folder: the folder; made if missing.
        :param sources: where to look, in this order.
        :return: the files that are missing still, and why sources failed.
        :raises DataUnavailable: if the folder cannot be read or written to.
        """
        failures = []
        try:
            missing = self.missing(folder)
            for source in sources:
                if not missing:
                    break
                try:
                    source(folder)
                except FetchError as error:
                    failures.append(str(error))
                    logger.info("%s: next source, because %s", self.title, error)
                missing = self.missing(folder)
        except OSError as error:
            raise DataUnavailable(
                f"{self.title} cannot be kept in {folder}: {error}\n"
                "Choose a data folder that you can read and write."
            ) from error
        return missing, failures

    def place(self, stream: IO[bytes], folder: Path, name: str, origin: str) -> None:
        """Write a stream to ``folder/name``, complete and verified or not at all.

        :param stream: the unpacked content.
        :param folder: where the file goes; made if missing.
        :param name: which of the files it must be.
        :param origin: where it comes from, for messages.
        :raises FetchError: if it breaks off or is something else.
        """
        try:
            content = stream.read(LARGEST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise FetchError(f"{origin} cannot be read: {error}") from error
        if hashlib.sha256(content).hexdigest() != self.sha256[name]:
            raise FetchError(
                f"{origin} is not {self.title}'s {name} (its SHA-256 differs)"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / name) as unfinished:
            unfinished.write_bytes(content)
        logger.info("%s: %s comes from %s", self.title, name, origin)

    def place_file(
        self, path: Path, folder: Path, name: str, origin: str | None = None
    ) -> None:
        """Copy a file to ``folder/name``, see :meth:`place`.

        :param path: the file; unpacked if it ends in ``.gz``.
        :param folder: where the file goes; made if missing.
        :param name: which of the files it is.
        :param origin: where it comes from, for messages; ``path`` by default.
        """
        with open_raw(path) as stream:
            self.place(stream, folder, name, origin or str(path))

    def from_folders(self, places: Sequence[Path], folder: Path) -> None:
        """Copy what other folders hold, or the folder itself in another form.

        :param places: where to look, in this order.
        :param folder: the folder to complete.
        """
        for name in self.missing(folder):
            # folder / name is known to be wrong; reading it again logs the reason.
            for path in [path for place in places for path in forms(place, name)]:
                try:
                    self.place_file(path, folder, name)
                    break
                except FetchError as error:
                    logger.warning("%s: a file is not used: %s", self.title, error)

    def from_mirrors(
        self, mirrors: Sequence[str], folder: Path, *, timeout: float = 10.0
    ) -> None:
        """Download the files.

        A mirror that fails once is not tried again, so that a missing network is
        noticed quickly.

        :param mirrors: addresses of folders with the files as ``.gz``.
        :param folder: the folder to complete.
        :param timeout: seconds to wait for an answer, and for each further piece of it.
        :raises FetchError: if every mirror failed.
        """
        failures = []
        for mirror in mirrors:
            try:
                for name in self.missing(folder):
                    url = f"{mirror.rstrip('/')}/{name}.gz"
                    with tempfile.TemporaryDirectory() as scratch:
                        packed = Path(scratch, f"{name}.gz")
                        fetch(url, packed, timeout=timeout)
                        self.place_file(packed, folder, name, origin=url)
                return
            except FetchError as error:
                failures.append(str(error))
        raise FetchError("; ".join(failures))


def forms(folder: Path, name: str) -> list[Path]:
    """The files of a folder that may be a raw file: it and its ``.gz``, if there.

    :param folder: the folder.
    :param name: the name of the raw file.
    """
    return [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]


def open_raw(path: Path) -> IO[bytes]:
    """Open a raw file to read its content.

    :param path: the file; unpacked if it ends in ``.gz``.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    return cast(IO[bytes], open_file(path, "rb"))

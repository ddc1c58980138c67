"""The rows of an array in a file, some at a time, so that the file may be larger than
the memory. Does not load torch."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from udil_avalanche.errors import ModelError

SUFFIXES = (".npy", ".npz")
"""Arrays as ``numpy.save`` and ``numpy.savez`` write them."""

ARRAY = "x"
"""The name of the inputs in a ``.npz`` file, the same as in data to learn from."""


class ArrayRows:
    """The inputs in a ``.npy`` file, or in the array ``x`` of a ``.npz`` file, which
    may be compressed. Nothing is unpickled.

    :param path: the file.
    :raises ModelError: if it is no such file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            self.shape, self.in_columns, self.dtype = self._header(file)
        if not self.shape or self.dtype.hasobject:
            raise ModelError(f"{path}: holds no rows of numbers")

    def __len__(self) -> int:
        return self.shape[0]

    def parts(self, size: int) -> Iterator[NDArray[Any]]:
        """The rows, in order.

        :param size: the most rows in memory at a time. (An array in Fortran's order has
            no rows in one piece, and is read as a whole.)
        :raises ModelError: if the file is damaged.
        """
        with self._opened() as file:
            self._header(file)
            if self.in_columns:
                columns = self._values(file, self.shape[::-1])
                yield from np.split(columns.T, range(size, len(self), size))
                return
            for begin in range(0, len(self), size):
                n = min(size, len(self) - begin)
                yield self._values(file, (n, *self.shape[1:]))

    @contextmanager
    def _opened(self) -> Iterator[BufferedIOBase]:
        """The file from the header of the array on."""
        if self.path.is_fifo():
            raise ModelError(f"{self.path}: not a regular file")
        try:
            if self.path.suffix.lower() == ".npy":
                with self.path.open("rb") as file:
                    yield file
                return
            with zipfile.ZipFile(self.path) as archive:
                if f"{ARRAY}.npy" not in archive.namelist():
                    names = [name.removesuffix(".npy") for name in archive.namelist()]
                    raise ModelError(
                        f"{self.path}: has no array {ARRAY}, only "
                        f"{', '.join(names) or 'nothing'}"
                    )
                with archive.open(f"{ARRAY}.npy") as member:
                    yield cast(BufferedIOBase, member)
        except FileNotFoundError:
            raise ModelError(f"{self.path}: there is no such file") from None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ModelError(
                f"{self.path}: not a complete {self.path.suffix} file of numbers "
                f"({error})"
            ) from error

    def _header(
        self, file: BufferedIOBase
    ) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        if npy.read_magic(file) == (1, 0):
            return npy.read_array_header_1_0(file)
        return npy.read_array_header_2_0(file)

    def _values(self, file: BufferedIOBase, shape: tuple[int, ...]) -> NDArray[Any]:
        values: NDArray[Any] = np.empty(shape, self.dtype)
        if file.readinto(values.reshape(-1).view(np.uint8).data) < values.nbytes:
            raise EOFError("it ends too early")
        return values

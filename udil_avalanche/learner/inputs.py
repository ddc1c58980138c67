"""Inputs to predict, from files, batch by batch. Does not load Avalanche."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.data import image_listing
from udil_avalanche.data.image_listing import files_below
from udil_avalanche.errors import ModelError
from udil_avalanche.learner import array_rows
from udil_avalanche.learner.array_rows import ArrayRows
from udil_avalanche.learner.predictor import Predictor

T = TypeVar("T")

BATCHES_AHEAD = 2
"""So many batches of images are decoded while the network is computing."""


class Batch(NamedTuple):
    """Inputs that go through the network at once.

    :param names: where each is from: an image's file, or ``file[row]``.
    :param inputs: one per row.
    """

    names: list[str]
    inputs: Tensor


class InputReader:
    """Reads what a model can take: image files, ``.npy`` and ``.npz`` files, and
    folders of either. No more than a few batches are in memory at a time.

    :param predictor: the model.
    :param refuse: is told what is wrong with an input, and where. If it returns, the
        input is left out.
    """

    def __init__(self, predictor: Predictor, refuse: Callable[[str], None]) -> None:
        self.predictor = predictor
        self.refuse = refuse
        self.takes_images = predictor.record.settings["benchmark"] == "folders"

    def count(self, paths: Sequence[Path]) -> int:
        """How many inputs there are, as far as can be told without reading them.

        :param paths: files and folders.
        """
        n = 0
        for file in self._files(paths, lambda problem: None):
            try:
                n += len(ArrayRows(file)) if _is_array(file) else 1
            except ModelError:
                continue  # Refused when it is read.
        return n

    def batches(self, paths: Sequence[Path]) -> Iterator[Batch]:
        """Read the inputs, in the order of the paths.

        :param paths: files and folders.
        """
        for are_arrays, files in groupby(self._files(paths, self.refuse), _is_array):
            read = self._arrays if are_arrays else self._images
            yield from read(files)

    def _files(
        self, paths: Sequence[Path], refuse: Callable[[str], None]
    ) -> Iterator[Path]:
        module = image_listing if self.takes_images else array_rows
        for path in paths:
            if not path.is_dir():
                yield path
                continue
            is_empty = True
            for file in files_below(path, module.SUFFIXES):
                is_empty = False
                yield Path(file)
            if is_empty:
                kind = "images" if self.takes_images else ".npy or .npz files"
                refuse(f"{path}: a folder without {kind}")

    def _arrays(self, files: Iterable[Path]) -> Iterator[Batch]:
        for file in files:
            parts, name, begin = self._parts(file), str(file), 0
            while True:
                try:
                    part = next(parts, None)
                except ModelError as error:
                    self.refuse(str(error))
                    break
                if part is None:
                    break
                usable = self._usable(part, file, begin)
                positions = (begin + np.flatnonzero(usable)).tolist()
                if positions:
                    names = [f"{name}[{row}]" for row in positions]
                    chosen = part if usable.all() else part[usable]
                    yield Batch(names, self.predictor.inputs(chosen, name))
                begin += len(part)

    def _parts(self, file: Path) -> Iterator[NDArray[Any]]:
        rows = ArrayRows(file)
        self.predictor.check_fits(rows.shape, rows.dtype, str(file))
        yield from rows.parts(self.predictor.batch_size)

    def _usable(self, part: NDArray[Any], file: Path, begin: int) -> NDArray[np.bool_]:
        if part.dtype == np.uint8:
            return np.ones(len(part), np.bool_)
        with np.errstate(over="ignore"):
            values = part.reshape(len(part), -1).astype(np.float32, copy=False)
        usable: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
        for row in np.flatnonzero(~usable).tolist():
            self.refuse(
                f"{file}[{begin + row}]: holds a number that is not finite in 32 bits"
            )
        return usable

    def _images(self, files: Iterable[Path]) -> Iterator[Batch]:
        from udil_avalanche.data.image_reading import BadImage, read_image

        size = self.predictor.record.input_shape[-1]

        def decoded(file: Path) -> tuple[Path, NDArray[np.uint8] | BadImage]:
            try:
                return file, read_image(file, size)
            except BadImage as error:
                return file, error

        # Pillow releases Python's global lock while it decodes.
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            ahead = BATCHES_AHEAD * self.predictor.batch_size
            images = _mapped(pool, decoded, self._known(files), ahead)
            while batch := list(islice(images, self.predictor.batch_size)):
                names, pixels = [], []
                for file, image in batch:
                    if isinstance(image, BadImage):
                        self.refuse(str(image))
                    else:
                        names.append(str(file))
                        pixels.append(image)
                if names:
                    stacked = np.stack(pixels).transpose(0, 3, 1, 2)
                    yield Batch(names, self.predictor.inputs(stacked))

    def _known(self, files: Iterable[Path]) -> Iterator[Path]:
        """The files that a model of images takes."""
        for file in files:
            if self.takes_images:
                yield file
            else:
                shape = tuple(self.predictor.record.input_shape)
                self.refuse(
                    f"{file}: the model takes .npy and .npz files with rows of shape "
                    f"{shape}, no other files"
                )


def _is_array(file: Path) -> bool:
    return file.suffix.lower() in array_rows.SUFFIXES


def _mapped(
    pool: ThreadPoolExecutor,
    function: Callable[[Path], T],
    files: Iterable[Path],
    ahead: int,
) -> Iterator[T]:
    """``pool.map``, but with at most so many results waiting to be taken."""
    waiting: deque[Future[T]] = deque()
    try:
        for file in files:
            waiting.append(pool.submit(function, file))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()

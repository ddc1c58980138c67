"""Fashion-MNIST as tensors, from the data folder or from the first source that has it.

The order is: the data folder, Debian's package, the host of its authors.
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from udil_avalanche.benchmarks.fetching.download import FetchError
from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages, read_raw
from udil_avalanche.benchmarks.fetching.raw_files import (
    NAMES,
    DataUnavailable,
    RawFiles,
    Source,
)

logger = logging.getLogger(__name__)

_CHECKSUMS = (  # In the order of NAMES.
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
)
SHA256 = dict(zip(NAMES, _CHECKSUMS, strict=True))
"""The raw files and their checksums."""

FASHION_MNIST_FILES = RawFiles("Fashion-MNIST", SHA256)

DEBIAN_PACKAGE = "dataset-fashion-mnist"
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
HOST = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"


def from_debian(folder: Path, *, installed: Path = DEBIAN_FOLDER) -> None:
    """Copy the files of Debian's package.

    :param folder: the folder to complete.
    :param installed: where the package keeps them.
    """
    if not installed.is_dir():
        raise FetchError(f"{DEBIAN_PACKAGE} is not installed")
    FASHION_MNIST_FILES.from_folders([installed], folder)


def load_fashion_mnist(
    root: Path | str,
    *,
    sources: Sequence[Source] = (
        from_debian,
        partial(FASHION_MNIST_FILES.from_mirrors, [HOST]),
    ),
) -> MnistImages:
    """Load Fashion-MNIST from a data folder, fetching first what is missing there.

    The files may be plain or ``.gz``, in ``root/FashionMNIST/raw``, where torchvision
    keeps them. Afterwards they are there unpacked.

    ::

        clothes = load_fashion_mnist("data")
        print(clothes.train_images.shape)

    :param root: the data folder; made if missing.
    :param sources: where to look, in this order, for what the folder lacks.
    :raises BadData: if no source has the files.
    """
    folder = Path(root) / "FashionMNIST" / "raw"
    in_data_folder = partial(FASHION_MNIST_FILES.from_folders, [folder])
    missing, failures = FASHION_MNIST_FILES.complete(folder, [in_data_folder, *sources])
    if missing:
        raise DataUnavailable(
            "Fashion-MNIST is not available: "
            f"{'; '.join(failures) or f'{folder} lacks it'}.\n"
            f"Either `apt-get install {DEBIAN_PACKAGE}`, or put {', '.join(missing)} "
            f"(or the same as .gz) into {folder}."
        )
    logger.info("Fashion-MNIST: read from %s", folder)
    return read_raw(folder, "fashion-mnist")

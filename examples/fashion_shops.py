"""Fashion-MNIST as image folders with five domains: ``python -m
examples.fashion_shops SOURCE ROOT``.

Real images to try the benchmark ``folders`` with. SOURCE is a folder with the four
files of Fashion-MNIST, such as ``/usr/share/datasets/fashion-mnist`` of Debian's
package ``dataset-fashion-mnist``. The images go to ``ROOT/<domain>/<class>``. Five
shops photograph the clothes: on black, at night, on paper, as a negative, and at an
angle. No image is in two domains.
"""

import argparse
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from udil_avalanche.benchmarks.fetching.raw_files import forms, open_raw

CLASSES = (
    *("t-shirt", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "boot"),
)
"""The classes in the order of their labels."""

Pixels = NDArray[np.uint8]


class Shop(NamedTuple):
    """How a shop photographs clothes."""

    background: tuple[int, int, int]
    clothes: tuple[int, int, int]
    """Colour of the brightest parts."""
    degrees: int = 0
    """Angle at which they hang."""

    def photograph(self, grey: Pixels) -> Image.Image:
        """Colour and turn a grey image.

        :param grey: the image, H x W.
        """
        share = grey[..., None] / 255
        colours = (1 - share) * np.array(self.background)
        colours += share * np.array(self.clothes)
        return Image.fromarray(colours.astype(np.uint8)).rotate(
            self.degrees, Image.Resampling.BILINEAR, fillcolor=self.background
        )


DOMAINS = {
    "1-black": Shop((0, 0, 0), (255, 255, 255)),
    "2-night": Shop((5, 5, 40), (60, 90, 170)),
    "3-paper": Shop((240, 215, 150), (90, 30, 20)),
    "4-negative": Shop((255, 255, 255), (0, 0, 0)),
    "5-askew": Shop((30, 110, 60), (250, 240, 90), degrees=40),
}


def lay_out_fashion_mnist(
    source: str | Path, root: str | Path, *, per_class: int = 30
) -> int:
    """Write the folders.

    :param source: folder with the files of Fashion-MNIST, plain or as ``.gz``.
    :param root: where the domains go.
    :param per_class: images of each class in each domain.
    :return: number of images written.
    :raises ValueError: if the files cannot be read or have too few images.
    """
    labels = _read(Path(source), "train-labels-idx1-ubyte", 8)
    images = _read(Path(source), "train-images-idx3-ubyte", 16)
    images = images[: len(labels) * 28 * 28].reshape(-1, 28, 28)
    for label, name in enumerate(CLASSES):
        members = np.flatnonzero(labels == label)
        if len(members) < per_class * len(DOMAINS):
            raise ValueError(
                f"there are only {len(members)} images of a {name} for "
                f"{len(DOMAINS)} domains of {per_class} each"
            )
        for t, (domain, shop) in enumerate(DOMAINS.items()):
            folder = Path(root) / domain / name
            folder.mkdir(parents=True, exist_ok=True)
            for index in members[t * per_class : (t + 1) * per_class]:
                shop.photograph(images[index]).save(folder / f"{index}.png")
    return per_class * len(DOMAINS) * len(CLASSES)


def _read(folder: Path, name: str, header_bytes: int) -> Pixels:
    path = next(iter(forms(folder, name)), folder / name)
    try:
        with open_raw(path) as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    return np.frombuffer(content, np.uint8, offset=header_bytes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the folders where the arguments say.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m examples.fashion_shops",
        description="Lay Fashion-MNIST out as image folders with five domains.",
    )
    parser.add_argument("source", metavar="SOURCE", help="folder with its four files")
    parser.add_argument("root", metavar="ROOT", help="where the domains go")
    parser.add_argument("--per-class", type=int, default=30, help="images per domain")
    given = parser.parse_args(arguments)
    try:
        n = lay_out_fashion_mnist(given.source, given.root, per_class=given.per_class)
    except (OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    print(f"{given.root}: {n} images, {len(CLASSES)} classes, {len(DOMAINS)} domains")
    return 0


if __name__ == "__main__":
    sys.exit(main())

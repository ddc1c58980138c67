"""Fashion-MNIST as image folders with domains of their own: ``python -m
udil_avalanche.benchmarks.samples.fashion_mnist SOURCE ROOT``.

A real set of images to try the benchmark ``folders`` with. SOURCE is a folder with the
four files of Fashion-MNIST, such as ``/usr/share/datasets/fashion-mnist`` of Debian's
package ``dataset-fashion-mnist``. The clothes are laid out in ``ROOT/<domain>/<class>``
as five shops would photograph them: on black, at night, on paper, as a negative, and
hung askew. No image is in two domains.
"""

import argparse
import gzip
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

CLASSES = (
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "boot",
)
"""The classes in the order of their labels."""

Pixels = NDArray[np.uint8]


def _tint(grey: Pixels, dark: Sequence[int], bright: Sequence[int]) -> Image.Image:
    share = grey[..., None] / 255
    colours = (1 - share) * np.array(dark) + share * np.array(bright)
    return Image.fromarray(colours.astype(np.uint8))


def _black(grey: Pixels) -> Image.Image:
    return _tint(grey, (0, 0, 0), (255, 255, 255))


def _night(grey: Pixels) -> Image.Image:
    return _tint(grey, (5, 5, 40), (60, 90, 170))


def _paper(grey: Pixels) -> Image.Image:
    return _tint(grey, (240, 215, 150), (90, 30, 20))


def _negative(grey: Pixels) -> Image.Image:
    return _tint(grey, (255, 255, 255), (0, 0, 0))


def _askew(grey: Pixels) -> Image.Image:
    return _tint(grey, (30, 110, 60), (250, 240, 90)).rotate(
        40, Image.Resampling.BILINEAR, fillcolor=(30, 110, 60)
    )


DOMAINS: dict[str, Callable[[Pixels], Image.Image]] = {
    "1-black": _black,
    "2-night": _night,
    "3-paper": _paper,
    "4-negative": _negative,
    "5-askew": _askew,
}
"""How each domain shows the clothes."""


def lay_out_fashion_mnist(
    source: str | Path, root: str | Path, *, per_class: int = 30
) -> int:
    """Write the folders.

    :param source: folder with the files of Fashion-MNIST, packed or not.
    :param root: where the domains go.
    :param per_class: images of each class in each domain.
    :return: number of images written.
    :raises ValueError: if the files are not there, or have too few images.
    """
    labels = _read(Path(source) / "train-labels-idx1-ubyte", 8)
    images = _read(Path(source) / "train-images-idx3-ubyte", 16)
    images = images[: len(labels) * 28 * 28].reshape(-1, 28, 28)
    for label, name in enumerate(CLASSES):
        members = np.flatnonzero(labels == label)
        if len(members) < per_class * len(DOMAINS):
            raise ValueError(
                f"there are only {len(members)} images of a {name} for "
                f"{len(DOMAINS)} domains of {per_class} each"
            )
        for t, (domain, show) in enumerate(DOMAINS.items()):
            folder = Path(root) / domain / name
            folder.mkdir(parents=True, exist_ok=True)
            for index in members[t * per_class : (t + 1) * per_class]:
                show(images[index]).save(folder / f"{index}.png")
    return per_class * len(DOMAINS) * len(CLASSES)


def _read(path: Path, header_bytes: int) -> Pixels:
    packed = path.with_name(f"{path.name}.gz")
    try:
        content = (
            gzip.decompress(packed.read_bytes())
            if packed.exists()
            else path.read_bytes()
        )
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    return np.frombuffer(content, np.uint8, offset=header_bytes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the folders where the arguments say.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m udil_avalanche.benchmarks.samples.fashion_mnist",
        description="Lay Fashion-MNIST out as image folders with five domains.",
    )
    parser.add_argument("source", metavar="SOURCE", help="folder with its four files")
    parser.add_argument("root", metavar="ROOT", help="where the domains go")
    parser.add_argument("--per-class", type=int, default=30, help="images a domain")
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


__all__ = ["CLASSES", "DOMAINS", "lay_out_fashion_mnist"]

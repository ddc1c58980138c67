"""Domains of image files, decoded when they are needed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from torch import Tensor
from torch.utils.data import Dataset

from udil_avalanche.data.attributes import indices_of, parts_of
from udil_avalanche.data.image_reading import read_image


class ImageFiles(Dataset[tuple[Tensor, int]]):
    """The samples of one domain: files that are decoded when a batch needs them.

    Images stay 8 bit up to the model, which normalises them (see
    :class:`~udil_avalanche.models.image_input.ImageInput`): so a batch from a worker
    process is a quarter of the size, and a replay memory of n images takes
    n x 3 x size x size bytes.

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

    @property
    def content(self) -> str:
        """The names and sizes of the files, by which a resumed run knows its data. The
        folder that they are in may have been moved."""
        sizes = (
            f"{Path(file).name} {Path(file).stat().st_size}" for file in self.files
        )
        return "\n".join(sizes)

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

"""The first layer of every network for images."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

Normalisation = tuple[Sequence[float], Sequence[float]]
"""Means and standard deviations of the three channels."""

IMAGENET: Normalisation = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and standard deviation of ImageNet's channels."""


class ImageInput(nn.Module):
    """Normalises images, channel by channel: scales them to [0, 1], subtracts a mean
    and divides by a standard deviation.

    It is a part of the model, so that mini-batches and memories hold 8-bit images,
    every copy of the model normalises in the same way, and saved weights include the
    normalisation.

    :param mean: of each channel.
    :param std: of each channel.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The normalised images.

        :param x: N x C x H x W; 8 bit, or numbers in [0, 1]. One channel is used for
            all three.
        """
        if x.dtype == torch.uint8:
            x = x.to(self.mean.dtype).div_(255)
        return (x - self.mean).div_(self.std)

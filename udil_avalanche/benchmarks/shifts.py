"""How a domain shows its images: turned, or with its pixels in another order."""

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

ROTATION_CHUNK = 2_000
"""How many images to rotate at a time; more would need much memory for a moment."""

Shift = partial[Tensor]
"""Makes the images of a domain from plain ones (N x 28 x 28, 8 bit)."""


def draw_rotations(
    domains: int, degrees_per_domain: float, generator: torch.Generator
) -> list[Shift]:
    """Draw an angle for each domain, that of domain t from [d(t - 1), dt) degrees.

    :param domains: number of domains.
    :param degrees_per_domain: d, the width of a domain's range.
    :param generator: what draws.
    """
    starts = degrees_per_domain * torch.arange(domains)
    angles = starts + degrees_per_domain * torch.rand(domains, generator=generator)
    return [partial(rotate, degrees=angle) for angle in angles]


def draw_permutations(domains: int, generator: torch.Generator) -> list[Shift]:
    """Draw a permutation of the pixels for each domain.

    :param domains: number of domains.
    :param generator: what draws.
    """
    return [
        partial(_permute, order=torch.randperm(28 * 28, generator=generator))
        for _ in range(domains)
    ]


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Rotate images about their centre, counter-clockwise, to the nearest pixel, with
    black corners, as torchvision does by default.

    :param images: N x H x W, 8 bit.
    :param degrees: one angle, or one for each image.
    """
    if degrees.numel() > 1:
        starts = range(0, len(images), ROTATION_CHUNK)
        chunks = [slice(start, start + ROTATION_CHUNK) for start in starts]
        return torch.cat([_turned(images[some], degrees[some]) for some in chunks])
    # One angle moves the same pixels in every image: rotate their numbers once.
    shape = images.shape[1:]
    numbers = torch.arange(1, shape.numel() + 1).view(1, *shape)
    sources = _turned(numbers, degrees).flatten()
    inside = sources > 0
    turned = _pick(images.flatten(start_dim=1), (sources - 1).clamp(min=0))
    return turned.mul_(inside).view_as(images)


def _turned(images: Tensor, degrees: Tensor) -> Tensor:
    radians = degrees.double().reshape(-1) * math.pi / 180
    cos, sin = radians.cos().float(), radians.sin().float()
    zero = torch.zeros_like(cos)
    turns = torch.stack([cos, -sin, zero, sin, cos, zero], dim=1).view(-1, 2, 3)
    pixels = images[:, None].float()
    grid = F.affine_grid(turns, list(pixels.shape), align_corners=False)
    turned = F.grid_sample(pixels, grid, mode="nearest", align_corners=False)
    return turned.squeeze(1).to(images.dtype)


def rotate_each(
    images: Tensor, start: float, degrees_per_domain: float, seed: int
) -> Tensor:
    """Rotate every image by an angle of its own.

    :param images: N x H x W, 8 bit.
    :param start: the smallest angle.
    :param degrees_per_domain: width of the range of the angles.
    :param seed: seed of the angles.
    """
    generator = torch.Generator().manual_seed(seed)
    offsets = degrees_per_domain * torch.rand(len(images), generator=generator)
    return rotate(images, start + offsets)


def _permute(images: Tensor, order: Tensor) -> Tensor:
    return _pick(images.flatten(start_dim=1), order).view_as(images)


def _pick(rows: Tensor, columns: Tensor) -> Tensor:
    """``rows[:, columns]``, five times as fast."""
    return rows.gather(1, columns.expand(len(rows), -1))

"""Permuted and rotated MNIST, with the paper's domains."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario

DEGREES_PER_DOMAIN = 9.0
ROTATION_CHUNK = 2_000
"""How many images to rotate at a time; more would need much memory for a moment."""

Shift = partial[Tensor]
"""Makes the images of a domain from plain ones (N x 28 x 28, 8 bit)."""


def permuted_mnist(
    root: str | Path,
    *,
    domains: int = 20,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    seed: int = 0,
) -> DomainScenario:
    """Permuted MNIST (section 5.3 of the paper): each domain has a fixed random
    permutation of the pixels.

    :param root: data folder, see :func:`~udil_avalanche.benchmarks.load_mnist`.
    :param domains: number of domains.
    :param train_per_domain: training images of each domain, a new draw for each; all
        if ``None``, or if MNIST is replaced by its 5,000 digits and there are fewer.
    :param validation: share of the training images to hold out, the same ones in all
        domains, and to test on instead of the test images.
    :param seed: seed of permutations and draws.
    """
    generator = torch.Generator().manual_seed(seed)
    shifts = [
        partial(_permute, order=torch.randperm(28 * 28, generator=generator))
        for _ in range(domains)
    ]
    return _scenario(root, shifts, shifts, train_per_domain, validation, generator)


def rotated_mnist(
    root: str | Path,
    *,
    domains: int = 20,
    train_per_domain: int | None = None,
    per_image_angles: bool = False,
    validation: float = 0.0,
    seed: int = 0,
) -> DomainScenario:
    """Rotated MNIST (section 5.4 of the paper): the angle of domain t is drawn from
    [9(t - 1), 9t) degrees, counter-clockwise.

    Avalanche's ``RotatedMNIST`` draws its angles from [-180, 180].

    :param root: data folder, see :func:`~udil_avalanche.benchmarks.load_mnist`.
    :param domains: number of domains.
    :param train_per_domain: training images of each domain, a new draw for each; all
        if ``None``, or if MNIST is replaced by its 5,000 digits and there are fewer.
    :param per_image_angles: draw an angle for each image instead of one for the domain.
    :param validation: share of the training images to hold out, the same ones in all
        domains, and to test on instead of the test images.
    :param seed: seed of angles and draws.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = DEGREES_PER_DOMAIN * torch.arange(domains)
    if per_image_angles:
        train, test = (
            [
                partial(_rotate_each, start=float(start), seed=seed + 2 * t + part)
                for t, start in enumerate(starts)
            ]
            for part in (0, 1)
        )
    else:
        angles = starts + DEGREES_PER_DOMAIN * torch.rand(domains, generator=generator)
        train = test = [partial(rotate, degrees=angle) for angle in angles]
    return _scenario(root, train, test, train_per_domain, validation, generator)


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


def _rotate_each(images: Tensor, start: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    offsets = DEGREES_PER_DOMAIN * torch.rand(len(images), generator=generator)
    return rotate(images, start + offsets)


def _permute(images: Tensor, order: Tensor) -> Tensor:
    return _pick(images.flatten(start_dim=1), order).view_as(images)


def _pick(rows: Tensor, columns: Tensor) -> Tensor:
    """``rows[:, columns]``, five times as fast."""
    return rows.gather(1, columns.expand(len(rows), -1))


def _scenario(
    root: str | Path,
    train_shifts: Sequence[Shift],
    test_shifts: Sequence[Shift],
    train_per_domain: int | None,
    validation: float,
    generator: torch.Generator,
) -> DomainScenario:
    mnist = load_mnist(root)
    shuffled = torch.randperm(len(mnist.train_images), generator=generator)
    n_held_out = math.ceil(validation * len(shuffled))
    held_out, pool = shuffled[:n_held_out], shuffled[n_held_out:]
    test_images, test_labels = mnist.test_images, mnist.test_labels
    if n_held_out:
        test_images = mnist.train_images[held_out]
        test_labels = mnist.train_labels[held_out]

    size = len(pool) if train_per_domain is None else train_per_domain
    if size < 1:
        raise ValueError(f"train_per_domain={size}: a domain needs at least one image.")
    if size > len(pool) and mnist.source == "mnist":
        raise ValueError(
            f"train_per_domain={size} is more than the {len(pool)} training images."
        )
    slot = LastUsed()
    train = []
    for shift in train_shifts:
        chosen = pool[torch.randperm(len(pool), generator=generator)[:size]]
        make = partial(_shifted, mnist.train_images, shift, chosen)
        # Angles are drawn for all images in one go, so some cannot be made alone.
        make_some = None if shift.func is _rotate_each else make
        labels = mnist.train_labels[chosen]
        train.append(DomainTensors(make, labels, slot, make_some))
    everything = torch.arange(len(test_images))
    test = [
        DomainTensors(
            partial(_shifted, test_images, shift, everything), test_labels, LastUsed()
        )
        for shift in test_shifts
    ]
    return DomainScenario(train=train, test=test, n_classes=10, data=mnist.source)


def _shifted(
    images: Tensor, shift: Shift, chosen: Tensor, some: Tensor | None = None
) -> Tensor:
    """The chosen images of a domain, or some of them, as the domain shows them."""
    indices = chosen if some is None else chosen[some]
    return shift(images.index_select(0, indices)).unsqueeze(1)

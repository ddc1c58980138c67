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
"""Images that are turned at a time: more would need much memory in passing."""

Shift = partial[Tensor]
"""Turns plain images (N x 28 x 28, 8 bit) into those of a domain."""


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
    :param train_per_domain: training images of each domain, drawn anew for each of
        them; all if ``None``, and where only the 5,000 digits of the last resort are to
        be had, at most all of those.
    :param validation: share of the training images that is held out, the same ones for
        all domains, and tested on instead of the test images.
    :param seed: of permutations and draws.
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
    :param train_per_domain: training images of each domain, drawn anew for each of
        them; all if ``None``, and where only the 5,000 digits of the last resort are to
        be had, at most all of those.
    :param per_image_angles: draw an angle for each image rather than one for the
        domain.
    :param validation: share of the training images that is held out, the same ones for
        all domains, and tested on instead of the test images.
    :param seed: of angles and draws.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = DEGREES_PER_DOMAIN * torch.arange(domains)
    if per_image_angles:
        train = [
            partial(_rotate_each, start=float(start), seed=seed + 2 * t)
            for t, start in enumerate(starts)
        ]
        test = [
            partial(_rotate_each, start=float(start), seed=seed + 2 * t + 1)
            for t, start in enumerate(starts)
        ]
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
        return torch.cat(
            [
                _turned(some, angles)
                for some, angles in zip(
                    images.split(ROTATION_CHUNK),
                    degrees.split(ROTATION_CHUNK),
                    strict=True,
                )
            ]
        )
    # One angle moves the same pixels in every image: turning their numbers tells which.
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
    """``rows[:, columns]``, at a fifth of the time."""
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
    held_out = math.ceil(validation * len(shuffled))
    pool = shuffled[held_out:]
    if held_out:
        test_images = mnist.train_images[shuffled[:held_out]]
        test_labels = mnist.train_labels[shuffled[:held_out]]
    else:
        test_images, test_labels = mnist.test_images, mnist.test_labels

    size = len(pool) if train_per_domain is None else train_per_domain
    if size < 1:
        raise ValueError(f"train_per_domain={size}: a domain needs at least one image.")
    if size > len(pool) and mnist.source == "mnist":
        raise ValueError(
            f"train_per_domain={size} is more than the {len(pool)} training images "
            f"that there are."
        )
    slot = LastUsed()
    train = []
    for shift in train_shifts:
        chosen = pool[torch.randperm(len(pool), generator=generator)[:size]]
        make = partial(_shifted, mnist.train_images, chosen, shift)
        make_some = partial(_some_shifted, mnist.train_images, chosen, shift)
        labels = mnist.train_labels[chosen]
        # With an angle of its own an image cannot do without those before it.
        alone = None if shift.func is _rotate_each else make_some
        train.append(DomainTensors(make, labels, slot, alone))
    everything = torch.arange(len(test_images))
    test = [
        DomainTensors(
            partial(_shifted, test_images, everything, shift), test_labels, LastUsed()
        )
        for shift in test_shifts
    ]
    return DomainScenario(train=train, test=test, n_classes=10, data=mnist.source)


def _shifted(images: Tensor, chosen: Tensor, shift: Shift) -> Tensor:
    return shift(images.index_select(0, chosen)).unsqueeze(1)


def _some_shifted(
    images: Tensor, chosen: Tensor, shift: Shift, indices: Tensor
) -> Tensor:
    return _shifted(images, chosen[indices], shift)


__all__ = ["permuted_mnist", "rotate", "rotated_mnist"]

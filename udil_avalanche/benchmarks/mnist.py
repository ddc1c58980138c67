"""Permuted and rotated MNIST, with the paper's domains, and both in turn."""

from functools import partial
from pathlib import Path

import torch

from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.benchmarks.shifted_images import shifted_scenario
from udil_avalanche.benchmarks.shifts import (
    draw_permutations,
    draw_rotations,
    rotate_each,
)
from udil_avalanche.data.scenario import DomainScenario

DEGREES_PER_DOMAIN = 9.0


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
    shifts = draw_permutations(domains, generator)
    return shifted_scenario(
        load_mnist(root), shifts, shifts, train_per_domain, validation, generator
    )


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
    if per_image_angles:
        train, test = (
            [
                partial(
                    rotate_each,
                    start=DEGREES_PER_DOMAIN * t,
                    degrees_per_domain=DEGREES_PER_DOMAIN,
                    seed=seed + 2 * t + part,
                )
                for t in range(domains)
            ]
            for part in (0, 1)
        )
    else:
        train = test = draw_rotations(domains, DEGREES_PER_DOMAIN, generator)
    return shifted_scenario(
        load_mnist(root), train, test, train_per_domain, validation, generator
    )


def mixed_mnist(
    root: str | Path,
    *,
    domains: int = 10,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    seed: int = 0,
) -> DomainScenario:
    """Mixed MNIST: near and far domains in turn.

    Domains 1, 3, 5, ... are rotations, the k-th of them by an angle that is drawn from
    [9(k - 1), 9k) degrees, as that of rotated MNIST's domain k. Domains 2, 4, 6, ...
    have a fixed random permutation of the pixels each. What was learned two domains ago
    helps with a rotation; nothing helps with a permutation.

    :param root: data folder, see :func:`~udil_avalanche.benchmarks.load_mnist`.
    :param domains: number of domains.
    :param train_per_domain: training images of each domain, a new draw for each; all
        if ``None``, or if MNIST is replaced by its 5,000 digits and there are fewer.
    :param validation: share of the training images to hold out, the same ones in all
        domains, and to test on instead of the test images.
    :param seed: seed of angles, permutations and draws.
    """
    generator = torch.Generator().manual_seed(seed)
    near = draw_rotations((domains + 1) // 2, DEGREES_PER_DOMAIN, generator)
    far = draw_permutations(domains // 2, generator)
    in_turn = [(near, far)[t % 2][t // 2] for t in range(domains)]
    return shifted_scenario(
        load_mnist(root), in_turn, in_turn, train_per_domain, validation, generator
    )

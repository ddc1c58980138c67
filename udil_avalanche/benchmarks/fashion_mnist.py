"""Rotated Fashion-MNIST."""

from pathlib import Path

import torch

from udil_avalanche.benchmarks.fetching.fashion_mnist_files import load_fashion_mnist
from udil_avalanche.benchmarks.shifted_images import shifted_scenario
from udil_avalanche.benchmarks.shifts import draw_rotations
from udil_avalanche.data.scenario import DomainScenario

DEGREES_PER_DOMAIN = 18.0
"""Ten domains span half a turn, as rotated MNIST's twenty do."""


def rotated_fashion_mnist(
    root: str | Path,
    *,
    domains: int = 10,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    seed: int = 0,
) -> DomainScenario:
    """Rotated Fashion-MNIST: the angle of domain t is drawn from [18(t - 1), 18t)
    degrees, counter-clockwise.

    :param root: data folder, see
        :func:`~udil_avalanche.benchmarks.load_fashion_mnist`.
    :param domains: number of domains.
    :param train_per_domain: training images of each domain, a new draw for each; all
        if ``None``.
    :param validation: share of the training images to hold out, the same ones in all
        domains, and to test on instead of the test images.
    :param seed: seed of angles and draws.
    """
    generator = torch.Generator().manual_seed(seed)
    shifts = draw_rotations(domains, DEGREES_PER_DOMAIN, generator)
    images = load_fashion_mnist(root)
    return shifted_scenario(
        images, shifts, shifts, train_per_domain, validation, generator
    )

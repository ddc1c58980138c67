"""Domains that show the same images, each in its own way."""

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages
from udil_avalanche.benchmarks.shifts import Shift, rotate_each
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario


def shifted_scenario(
    images: MnistImages,
    train_shifts: Sequence[Shift],
    test_shifts: Sequence[Shift],
    train_per_domain: int | None,
    validation: float,
    generator: torch.Generator,
) -> DomainScenario:
    """Make a domain of each shift.

    :param images: the plain images.
    :param train_shifts: makes the training images of each domain.
    :param test_shifts: makes the test images of each domain.
    :param train_per_domain: training images of each domain, a new draw for each; all
        if ``None``, or if MNIST is replaced by its 5,000 digits and there are fewer.
    :param validation: share of the training images to hold out, the same ones in all
        domains, and to test on instead of the test images.
    :param generator: what draws.
    """
    shuffled = torch.randperm(len(images.train_images), generator=generator)
    n_held_out = math.ceil(validation * len(shuffled))
    held_out, pool = shuffled[:n_held_out], shuffled[n_held_out:]
    test_images, test_labels = images.test_images, images.test_labels
    if n_held_out:
        test_images = images.train_images[held_out]
        test_labels = images.train_labels[held_out]

    size = len(pool) if train_per_domain is None else train_per_domain
    if size < 1:
        raise ValueError(f"train_per_domain={size}: a domain needs at least one image.")
    if size > len(pool) and images.source != "mnist-5000":
        raise ValueError(
            f"train_per_domain={size} is more than the {len(pool)} training images."
        )
    slot = LastUsed()
    train = []
    for shift in train_shifts:
        chosen = pool[torch.randperm(len(pool), generator=generator)[:size]]
        make = partial(_shifted, images.train_images, shift, chosen)
        # Angles are drawn for all images in one go, so some cannot be made alone.
        make_some = None if shift.func is rotate_each else make
        labels = images.train_labels[chosen]
        train.append(DomainTensors(make, labels, slot, make_some))
    everything = torch.arange(len(test_images))
    test = [
        DomainTensors(
            partial(_shifted, test_images, shift, everything), test_labels, LastUsed()
        )
        for shift in test_shifts
    ]
    return DomainScenario(train=train, test=test, n_classes=10, data=images.source)


def _shifted(
    images: Tensor, shift: Shift, chosen: Tensor, some: Tensor | None = None
) -> Tensor:
    """The chosen images of a domain, or some of them, as the domain shows them."""
    indices = chosen if some is None else chosen[some]
    return shift(images.index_select(0, indices)).unsqueeze(1)

"""Rotated digits as a living model meets them: domains to learn, a reserve of each, and
samples that come later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.workload import measured_settings, silent_evaluator
from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.benchmarks.shifts import rotate
from udil_avalanche.data.domain_tensors import domain_of
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.models.mlp import mlp
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.recipes.settings import FIRST_SEED_FOR_CHOOSING
from udil_avalanche.runs.torch_setup import seed_all

HELD_OUT = 6_000
"""Training images that no domain learns. With seeds for choosing, samples that come
later are these; otherwise they are MNIST's test images."""


@dataclass(frozen=True)
class Rotations:
    """Domains of rotated digits.

    :param angles: of each domain, in degrees.
    :param scenario: what is learned.
    :param reserve: images and labels of each domain that are not learned.
    :param later_images: plain images for samples that come later.
    :param later_labels: their labels.
    """

    angles: Sequence[float]
    scenario: DomainScenario
    reserve: list[tuple[Tensor, Tensor]]
    later_images: Tensor
    later_labels: Tensor

    def later(self, angle: float) -> Tensor:
        """All images that come later, rotated.

        :param angle: in degrees.
        """
        return rotate(self.later_images, torch.tensor(angle)).unsqueeze(1)


def rotations(
    root: str | Path, *, angles: Sequence[float], images: int, reserve: int, seed: int
) -> Rotations:
    """Make the domains.

    :param root: folder with MNIST.
    :param angles: of each domain, in degrees.
    :param images: to learn of each domain.
    :param reserve: images of each domain that are not learned.
    :param seed: seed of the draws.
    """
    mnist = load_mnist(root)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(mnist.train_images), generator=generator)
    held_out, pool = order[:HELD_OUT], order[HELD_OUT:]
    # No image is in two domains: what is in the reserve of one would be learned, turned
    # by a few degrees, in another.
    size = images + reserve
    if size * len(angles) > len(pool):
        raise ValueError(
            f"{len(angles)} domains of {size} images are more than the {len(pool)} "
            "that there are."
        )
    train, kept = [], []
    for angle, chosen in zip(angles, torch.split(pool, size), strict=False):
        turned = rotate(mnist.train_images[chosen], torch.tensor(angle)).unsqueeze(1)
        labels = mnist.train_labels[chosen]
        train.append(domain_of(turned[reserve:], labels[reserve:]))
        kept.append((turned[:reserve], labels[:reserve]))
    later = mnist.test_images, mnist.test_labels
    if seed >= FIRST_SEED_FOR_CHOOSING:
        later = mnist.train_images[held_out], mnist.train_labels[held_out]
    scenario = DomainScenario(train=train, test=train, n_classes=10, data=mnist.source)
    return Rotations(angles, scenario, kept, *later)


@dataclass(frozen=True)
class Learned:
    """A model after a domain.

    :param model: h = p o e, which goes on learning when the next one is asked for.
    :param memory: images and domains in its memory; none for a method without one.
    """

    model: Any
    memory: tuple[Tensor, Tensor] | None

    @torch.no_grad()
    def outputs(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings and class probabilities.

        :param images: 8-bit images, or floats in [0, 1].
        """
        training = self.model.training
        self.model.eval()
        parts = []
        for some in torch.split(images, 1000):
            x = some / 255 if some.dtype == torch.uint8 else some
            embeddings = self.model.get_features(x)
            parts.append((embeddings, self.model.predictor(embeddings).softmax(dim=1)))
        self.model.train(training)
        embeddings, probabilities = (
            torch.cat(each) for each in zip(*parts, strict=True)
        )
        return embeddings, probabilities


def learn(name: str, domains: Rotations, *, seed: int) -> Iterator[Learned]:
    """Learn the domains one after another.

    :param name: of the strategy.
    :param domains: what to learn.
    :param seed: of the weights and batches.
    :return: the model after each domain.
    """
    settings = measured_settings(name, {"seed": seed, "domains": len(domains.angles)})
    seed_all(seed)
    strategy = build_strategy(settings, mlp(), evaluator=silent_evaluator())
    for experience in domains.scenario.train_stream:
        strategy.train(experience)
        replay = getattr(strategy, "replay", None)
        memory = replay and (replay.memory.fields[0], replay.memory.domains)
        yield Learned(evaluated_model(strategy), memory)


__all__ = ["Learned", "Rotations", "learn", "rotations"]

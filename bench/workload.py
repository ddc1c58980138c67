"""The workload: domains of rotated digits, of any sizes."""

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from avalanche.benchmarks import CLExperience
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.templates import SupervisedTemplate

from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages, load_mnist
from udil_avalanche.benchmarks.mnist import DEGREES_PER_DOMAIN
from udil_avalanche.benchmarks.shifts import rotate
from udil_avalanche.data.domain_tensors import DomainTensors, domain_of
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.models.mlp import mlp
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.recipes.resolve import CONFIGS, resolve

EARLIER_DOMAIN = 512
"""Samples in each domain before the measured one."""


def rotated_digits(root: str | Path, sizes: Sequence[int]) -> DomainScenario:
    """Rotated MNIST with ``sizes[i]`` training images in domain i, ready in memory.

    :param root: data folder.
    :param sizes: training images of each domain.
    """
    mnist = _mnist(root)
    generator = torch.Generator().manual_seed(0)
    train = []
    for i, size in enumerate(sizes):
        chosen = torch.randint(len(mnist.train_images), (size,), generator=generator)
        degrees = torch.tensor(DEGREES_PER_DOMAIN * i)
        images = rotate(mnist.train_images[chosen], degrees).unsqueeze(1)
        train.append(domain_of(images, mnist.train_labels[chosen]))
    test: list[DomainTensors] = train[:1]
    return DomainScenario(
        train=train, test=test * len(train), n_classes=10, data=mnist.source
    )


@cache
def _mnist(root: str | Path) -> MnistImages:
    return load_mnist(root)


PAPERS_FORMULAS = CONFIGS / "quick" / "rotated_mnist.yaml"
"""UDIL by the formulas that the bare loop has, too."""


def measured_settings(
    name: str, options: Mapping[str, Any], config: Path | None = None
) -> RunSettings:
    """The configuration for rotated MNIST.

    :param name: the strategy's name.
    :param options: settings that differ from the configuration.
    :param config: another configuration.
    """
    return resolve(name, "rotated_mnist", config_file=config, options=options)


def strategy_at_domain(
    name: str,
    t: int,
    steps: int,
    *,
    root: str | Path,
    plugins: Sequence[Any] = (),
    evaluator: EvaluationPlugin | None = None,
    config: Path | None = None,
    **settings: Any,
) -> tuple[SupervisedTemplate, CLExperience]:
    """A strategy that has learned t - 1 small domains, and domain t.

    :param name: the strategy's name, as on the command line.
    :param t: the domain to measure.
    :param steps: its number of steps.
    :param root: data folder.
    :param plugins: further plugins.
    :param evaluator: one that logs nothing by default.
    :param config: another configuration than that for rotated MNIST.
    :param settings: what differs from :func:`measured_settings`.
    """
    resolved = measured_settings(name, settings, config)
    sizes = [EARLIER_DOMAIN] * (t - 1) + [steps * resolved.batch_size]
    scenario = rotated_digits(root, sizes)
    strategy = build_strategy(
        resolved,
        mlp(),
        evaluator=evaluator or silent_evaluator(),
        plugins=plugins,
    )
    *earlier, measured = scenario.train_stream
    for experience in earlier:
        strategy.train(experience)
    return strategy, measured


def silent_evaluator(*metrics: Any) -> EvaluationPlugin:
    """An evaluator without loggers.

    :param metrics: what it keeps track of.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EvaluationPlugin(*metrics, loggers=[])


__all__ = [
    "PAPERS_FORMULAS",
    "measured_settings",
    "rotated_digits",
    "silent_evaluator",
    "strategy_at_domain",
]

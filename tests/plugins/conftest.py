"""A plain strategy to put plugins into."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from avalanche.training.supervised import Naive
from torch import nn

from udil_avalanche.evaluation.domain_metrics import DomainMetrics


@pytest.fixture
def naive(silent: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a plain strategy with plugins."""

    def make(model: nn.Module, plugins: list[Any], **kwargs: Any) -> Any:
        settings = {"train_mb_size": 16, "train_epochs": 1, "eval_mb_size": 32}
        return Naive(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            plugins=plugins,
            **({"evaluator": silent()} | settings | kwargs),
        )

    return make


@pytest.fixture
def watch() -> Callable[..., SupervisedPlugin]:
    """Makes a plugin that calls a function at one of the strategy's callbacks."""

    def make(callback: str, function: Callable[[Any], None]) -> SupervisedPlugin:
        plugin = SupervisedPlugin()
        setattr(plugin, callback, lambda strategy, **kwargs: function(strategy))
        return plugin

    return make


@pytest.fixture
def make_batchnorm_model() -> Callable[[], nn.Module]:
    """Makes a small model with running statistics, always with the same weights."""

    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)
        )

    return make


@pytest.fixture
def gain_over_fine_tuning(
    naive: Callable[..., Any],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], nn.Module],
    silent: Callable[..., Any],
) -> Callable[[list[Any]], tuple[float, float]]:
    """Measures by how much plugins raise the average accuracy and lower forgetting."""

    def measure(plugins: list[Any]) -> tuple[float, float]:
        scenario, finals = make_scenario(domains=5, size=200), []
        for each in (plugins, []):
            metrics = DomainMetrics()
            strategy = naive(
                make_model(), each, train_epochs=5, evaluator=silent(metrics)
            )
            for experience in scenario.train_stream:
                strategy.train(experience)
                strategy.eval(scenario.test_stream)
            finals.append(metrics.result())
        with_them, plain = finals
        return (
            with_them["avg_acc"] - plain["avg_acc"],
            plain["forgetting"] - with_them["forgetting"],
        )

    return measure

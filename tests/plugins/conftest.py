"""A plain strategy to put plugins into."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.supervised import Naive
from torch import nn


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
def make_batchnorm_model() -> Callable[[], nn.Module]:
    """Makes a small model with running statistics, always with the same weights."""

    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)
        )

    return make

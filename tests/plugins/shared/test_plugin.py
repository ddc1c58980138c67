"""Plugins in strategies of Avalanche that build their own mini-batches."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.models import SCRModel
from avalanche.training.supervised import DER, ER_ACE, SCR
from torch import nn

from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    DERPlugin,
    DiscriminatorPlugin,
    GEMPlugin,
    OnlineEWCPlugin,
    SupConPlugin,
    TensorLoaderPlugin,
)


def discriminator() -> DiscriminatorPlugin:
    return DiscriminatorPlugin(BalancedReplayPlugin())


def make_strategy(kind: Any, model: nn.Module, plugin: Any, silent: Any) -> Any:
    special: dict[str, Any] = {"mem_size": 20, "batch_size_mem": 8}
    if kind is SCR:
        model = SCRModel(model.get_submodule("encoder"), nn.Linear(16, 8))
        special["augmentations"] = nn.Identity()
    else:
        special["criterion"] = nn.CrossEntropyLoss()
    return kind(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
        train_mb_size=16,
        plugins=[plugin],
        evaluator=silent(),
        **special,
    )


@pytest.mark.parametrize("kind", [DER, ER_ACE, SCR])
@pytest.mark.parametrize(
    "make_plugin", [BalancedReplayPlugin, DERPlugin, SupConPlugin, discriminator]
)
def test_plugins_that_need_the_mini_batch_refuse_it(
    kind: type,
    make_plugin: Callable[[], Any],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], nn.Module],
    silent: Callable[..., Any],
) -> None:
    plugin = make_plugin()
    strategy = make_strategy(kind, make_model(), plugin, silent)
    message = f"{type(plugin).__name__} does not work in the strategy {kind.__name__}"
    with pytest.raises(ValueError, match=f"{message}.*such as Naive"):
        strategy.train(make_scenario().train_stream[0])


@pytest.mark.parametrize("kind", [DER, ER_ACE])
@pytest.mark.parametrize("plugin", [TensorLoaderPlugin, OnlineEWCPlugin, GEMPlugin])
def test_plugins_that_do_not_need_it_work(
    kind: type,
    plugin: Callable[[], Any],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], nn.Module],
    silent: Callable[..., Any],
) -> None:
    model = make_model()
    make_strategy(kind, model, plugin(), silent).train(make_scenario().train_stream)
    assert all(parameter.isfinite().all() for parameter in model.parameters())

"""How the plugins get at the embeddings."""

from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    HistoryModelPlugin,
    SupConPlugin,
)
from udil_avalanche.plugins.shared.encoder_plugin import EmbeddingTap


def test_embeddings_come_from_the_strategys_own_forward_pass(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model = make_model()
    callers: list[nn.Module] = []
    model.encoder.register_forward_hook(lambda module, *_: callers.append(module))
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    parts = [
        replay,
        history,
        DiscriminatorPlugin(replay, hidden=8),
        EmbeddingDistillationPlugin(replay, history),
        SupConPlugin(),
    ]
    strategy = naive(model, parts)
    scenario = make_scenario()
    strategy.train(scenario.train_stream[:2])
    n_forward = sum(module is model.encoder for module in callers)
    assert n_forward == strategy.clock.train_iterations == 8


def test_any_module_that_names_its_encoder_works(
    naive: Any, make_scenario: Any
) -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict({"body": nn.Linear(6, 5)})
            self.out = nn.Linear(5, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.parts["body"](x))

    supcon = SupConPlugin(encoder="parts.body")
    naive(Other(), [supcon]).train(make_scenario().train_stream[0])
    assert supcon.terms["V_s"] > 0
    with pytest.raises(ValueError, match=r"no sub-module 'encoder'.*parts, out"):
        naive(Other(), [SupConPlugin()]).train(make_scenario().train_stream[0])


def test_convolutional_embeddings_become_rows() -> None:
    model = EncoderPredictor(nn.Conv2d(1, 2, 3), nn.Flatten())
    with EmbeddingTap(model, "encoder") as tap:
        model(torch.randn(4, 1, 8, 8))
    assert tap.embeddings.shape == (4, 2 * 6 * 6)

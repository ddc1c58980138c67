"""The model of the last domain, and what it answers."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    BalancedReplayPlugin,
    EmbeddingDistillationPlugin,
    HistoryModelPlugin,
)


def test_history_model_is_a_frozen_copy_in_evaluation_mode(
    naive: Any, make_scenario: Any
) -> None:
    encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    model = EncoderPredictor(encoder, nn.Linear(8, 3))
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    strategy = naive(model, [replay, history])
    scenario = make_scenario()

    strategy.train(scenario.train_stream[0])
    learned = copy.deepcopy(model.state_dict())
    frozen = history.model
    assert frozen is not None and not frozen.training
    assert not any(p.requires_grad for p in frozen.parameters())

    strategy.train(scenario.train_stream[1])
    assert history.model is not frozen
    for name, value in frozen.state_dict().items():
        assert torch.equal(value, learned[name]), f"{name} moved during domain 2"
    for name in ("encoder.0.weight", "encoder.1.running_mean"):
        assert not torch.equal(learned[name], model.state_dict()[name])


def test_history_outputs_on_the_memory_are_those_of_the_last_domains_model(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model = make_model()
    replay = BalancedReplayPlugin(mem_size=20)
    history = HistoryModelPlugin(replay)
    history.outputs_batch_size = 7
    checked = []

    def compare(strategy: Any) -> None:
        if replay.batch is not None:
            x = replay.memory.fields[0]
            torch.testing.assert_close(history.memory_logits, frozen(x))
            torch.testing.assert_close(history.memory_embeddings, frozen.encoder(x))
            checked.append(len(x))

    strategy = naive(model, [replay, history, watch("after_update", compare)])
    frozen = model
    for experience in make_scenario().train_stream:
        strategy.train(experience)
        frozen = copy.deepcopy(model)
    assert checked == [20] * 8


@pytest.mark.parametrize(
    "make",
    [
        lambda replay, other: EmbeddingDistillationPlugin(replay, other),
        lambda replay, other: AdaptiveCoefficientsPlugin(replay, other),
    ],
)
def test_a_history_model_of_another_memory_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="with the same replay"):
        make(BalancedReplayPlugin(), HistoryModelPlugin(BalancedReplayPlugin()))

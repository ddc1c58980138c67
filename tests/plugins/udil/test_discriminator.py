"""The adversarial discriminator and the divergence that it measures."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.losses import discriminator_loss
from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    DiscriminatorPlugin,
)


def test_discriminator_learns_and_grows_with_the_domains(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=60, batch_size_mem=32)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.0, lr=1e-2, hidden=32)
    accuracies: list[list[float]] = [[]]
    strategy = naive(
        make_model(),
        [
            replay,
            plugin,
            watch(
                "after_training_iteration",
                lambda _: accuracies[-1].append(
                    float(plugin.terms.get("discriminator_accuracy", 0))
                ),
            ),
        ],
        train_epochs=20,
    )
    for t, experience in enumerate(make_scenario().train_stream, start=1):
        strategy.train(experience)
        accuracies.append([])
        if t > 1:
            assert plugin.network is not None
            assert plugin.network.head.out_features == t
            assert plugin.divergence.shape == (t - 1,)
    assert sum(accuracies[1][-10:]) / 10 > sum(accuracies[1][:3]) / 3
    assert sum(accuracies[1][-10:]) / 10 > 0.8


def test_alignment_gradient_is_that_of_the_minimax_game(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """The encoder's gradient is that of the task plus -lambda_d V_d, with d as it was
    before its own step."""
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    plugin = DiscriminatorPlugin(replay, lambda_d=0.7, lr=1e-2, hidden=8)
    model = make_model()
    state: dict[str, Any] = {}

    def remember(strategy: Any) -> None:
        state["d"] = copy.deepcopy(plugin.network)

    def compare(strategy: Any) -> None:
        if replay.batch is None or state["d"] is None:
            return
        twin = copy.deepcopy(model)
        twin.zero_grad()
        logits = twin(strategy.mb_x)
        loss = nn.functional.cross_entropy(logits, strategy.mb_y)
        domain_logits = state["d"](twin.encoder(strategy.mb_x))
        n_past = replay.memory.n_domains
        if domain_logits.shape[1] != n_past + 1:
            return
        beta = torch.ones(n_past)
        loss = loss - 0.7 * discriminator_loss(
            domain_logits, replay.batch.domains, beta
        )
        loss.backward()
        for mine, expected in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, expected.grad)
        state["compared"] = state.get("compared", 0) + 1

    strategy = naive(
        model,
        [
            replay,
            watch("before_forward", remember),
            plugin,
            watch("after_backward", compare),
        ],
    )
    strategy.train(make_scenario().train_stream)
    assert state["compared"] == 2 * 3, "all but the first iteration of two domains"


def test_logged_divergence_counts_only_the_domains_in_the_batch(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=1)
    plugin = DiscriminatorPlugin(replay, hidden=8)
    seen: list[tuple[float, float]] = []

    def look(strategy: Any) -> None:
        if replay.batch is not None:
            present = plugin.divergence[replay.batch.domains]
            seen.append((float(plugin.terms["divergence"]), float(present.mean())))

    looking = watch("before_backward", look)
    naive(make_model(), [replay, plugin, looking]).train(
        make_scenario(domains=4).train_stream
    )
    assert len(seen) == 12
    for logged, expected in seen:
        assert logged == pytest.approx(expected)

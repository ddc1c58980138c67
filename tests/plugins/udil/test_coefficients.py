"""Omega, learned while the model is."""

from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    BalancedReplayPlugin,
    DiscriminatorPlugin,
    HistoryModelPlugin,
)
from udil_avalanche.plugins.udil.omega import AdaptiveOmega


def test_coefficients_as_criterion_are_cross_entropy_outside_of_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    strategy = naive(make_model(), [replay, history], criterion=criterion)
    scenario = make_scenario()
    strategy.train(scenario.train_stream)
    logits, labels = torch.randn(5, 3), torch.randint(3, (5,))
    expected = nn.functional.cross_entropy(logits, labels)
    assert criterion(logits, labels).item() == pytest.approx(expected.item())


def test_coefficients_follow_the_batch_and_are_logged(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay)
    omega = AdaptiveOmega(lr=0.05)
    discriminator = DiscriminatorPlugin(replay, omega=omega, hidden=8)
    criterion = AdaptiveCoefficientsPlugin(
        replay, history, discriminator, omega=omega, c=1.0
    )
    strategy = naive(
        make_model(), [replay, history, discriminator, criterion], criterion=criterion
    )
    names: set[str] = set()
    strategy.plugins.insert(
        0, watch("after_training_iteration", lambda _: names.update(criterion.terms))
    )
    strategy.train(make_scenario(domains=4).train_stream)
    assert {"V_0-1", "V_l", "V_l/cross_domain", "alpha", "beta", "gamma"} <= names
    assert [tuple(each.shape) for each in criterion.trajectory] == [
        (1, 3),
        (2, 3),
        (3, 3),
    ]
    for each in criterion.trajectory:
        torch.testing.assert_close(each.sum(dim=1), torch.ones(len(each)))
        assert not torch.allclose(each, torch.full_like(each, 1 / 3), atol=1e-3)


def test_small_memory_batches_leave_domains_out_without_harm(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=2)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    model = make_model()
    strategy = naive(model, [replay, history], criterion=criterion)
    strategy.train(make_scenario(domains=5).train_stream)
    assert all(p.isfinite().all() for p in model.parameters())
    assert criterion.trajectory[-1].isfinite().all()

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


@pytest.mark.parametrize("doubt", [0.0, 0.15])
def test_the_temperature_follows_the_answers_on_the_memory(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any, doubt: float
) -> None:
    """It is raised in the domains that begin with a history model that is too sure."""
    replay = BalancedReplayPlugin(mem_size=30)
    history = HistoryModelPlugin(replay, own_domain=True)
    criterion = AdaptiveCoefficientsPlugin(
        replay, history, temperature=2.0, doubt=doubt
    )
    found: dict[int, set[tuple[float, float]]] = {}

    def look(strategy: Any) -> None:
        if replay.batch is not None:
            answers = (history.memory_logits / criterion.temperature).softmax(dim=1)
            left = 1 - float(answers.amax(dim=1).mean())
            domain = found.setdefault(replay.memory.n_domains, set())
            domain.add((criterion.temperature, left))
            logged = criterion.terms.get("distillation_temperature")
            assert (logged is None) == (doubt == 0)
            assert logged is None or float(logged) == pytest.approx(
                criterion.temperature
            )

    strategy = naive(
        make_model(),
        [replay, history, criterion],
        criterion=criterion,
        train_epochs=200,
    )
    strategy.plugins.append(watch("before_backward", look))
    strategy.train(make_scenario(domains=3).train_stream)
    assert [len(domain) for domain in found.values()] == [1, 1]
    [(T, left)], [(next_T, next_left)] = found.values()
    if doubt == 0:
        assert T == next_T == 2
        assert left < 0.15
    else:
        assert T > 2
        assert next_T != T
        assert left == pytest.approx(doubt, abs=1e-4)
        assert next_left >= doubt - 1e-4

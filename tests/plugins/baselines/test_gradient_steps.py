"""What is done to the gradient and to the learning rate."""

from typing import Any

import pytest

from udil_avalanche.plugins import (
    AnnealingPlugin,
    GradientClippingPlugin,
)


def test_clipping_limits_the_gradient_of_all_parameters_together(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    lengths: dict[str, list[float]] = {"before": [], "after": []}

    def measure(when: str) -> Any:
        def length(strategy: Any) -> None:
            squares = [p.grad.pow(2).sum() for p in strategy.model.parameters()]
            lengths[when].append(float(sum(squares)) ** 0.5)

        return watch("before_update", length)

    plugins = [measure("before"), GradientClippingPlugin(1.5), measure("after")]
    naive(make_model(), plugins).train(make_scenario().train_stream)
    assert max(lengths["before"]) > 1.5 > min(lengths["before"])
    for before, after in zip(lengths["before"], lengths["after"], strict=True):
        assert after == pytest.approx(min(before, 1.5), rel=1e-4)


def test_annealing_lowers_the_rate_at_the_end_of_each_domain(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    rates: list[float] = []
    look = watch(
        "after_update", lambda s: rates.append(s.optimizer.param_groups[0]["lr"] / 0.05)
    )
    strategy = naive(make_model(), [AnnealingPlugin(0.5), look], train_epochs=2)
    strategy.train(make_scenario(domains=2).train_stream)
    one_domain = [1, 1, 1, 1, 0.775, 0.55, 0.325, 0.1]
    assert rates == pytest.approx(2 * one_domain)
    assert strategy.optimizer.param_groups[0]["lr"] == pytest.approx(0.05)

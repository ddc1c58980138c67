"""The temperature at which a history model tells more than the labels."""

import pytest
import torch
from torch import Tensor

from udil_avalanche.losses.temperature import (
    HIGHEST_TEMPERATURE,
    mean_doubt,
    telling_temperature,
)


def slow_doubt(logits: Tensor, T: float) -> float:
    left = [1 - float((row.double() / T).softmax(0).max()) for row in logits]
    return sum(left) / len(left)


def test_doubt_is_what_the_likeliest_class_does_not_get() -> None:
    p = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3]])
    assert mean_doubt(p.log()) == pytest.approx((0.3 + 0.2 + 0.6) / 3)
    torch.manual_seed(0)
    logits = 5 * torch.randn(30, 4)
    for T in (1.0, 2.0, 7.5):
        assert mean_doubt(logits, T) == pytest.approx(slow_doubt(logits, T), abs=1e-6)


@pytest.mark.parametrize("doubt", [0.05, 0.15, 0.4])
@pytest.mark.parametrize("scale", [40.0, 120.0])
def test_a_sure_model_is_asked_at_the_temperature_that_gives_the_doubt(
    doubt: float, scale: float
) -> None:
    torch.manual_seed(0)
    logits = scale * torch.randn(50, 5)
    found = telling_temperature(logits, doubt, lowest=1.0)
    # The first on a fine grid that is enough.
    slow = next(
        T / 500 for T in range(500, 50_000) if slow_doubt(logits, T / 500) >= doubt
    )
    assert found == pytest.approx(slow, abs=0.003)
    assert slow_doubt(logits, found) == pytest.approx(doubt, abs=1e-4)


def test_an_unsure_model_is_asked_at_the_lowest_temperature() -> None:
    logits = torch.tensor([[1.0, 0.5, 0.0], [0.2, 0.1, 0.3]])
    assert telling_temperature(logits, 0.15, lowest=2.0) == 2.0
    assert telling_temperature(1000 * logits, 0.0, lowest=2.0) == 2.0


def test_it_stays_the_lowest_where_no_temperature_gives_the_doubt() -> None:
    logits = 1000 * HIGHEST_TEMPERATURE * torch.eye(3)
    assert telling_temperature(logits, 0.15, lowest=2.0) == 2.0
    assert telling_temperature(logits, 0.15, lowest=500.0) == 500.0
    only_one = torch.tensor([[3.0], [4.0]])
    assert telling_temperature(only_one, 0.15, lowest=2.0) == 2.0


def test_it_stays_the_lowest_for_a_model_that_lacks_classes() -> None:
    """They have no probability at any temperature, and would be pressed down."""
    torch.manual_seed(0)
    logits = 40 * torch.randn(20, 3)
    assert telling_temperature(logits, 0.15, lowest=2.0) > 2.0
    wider = torch.cat([logits, torch.full((20, 2), -torch.inf)], dim=1)
    assert telling_temperature(wider, 0.15, lowest=2.0) == 2.0

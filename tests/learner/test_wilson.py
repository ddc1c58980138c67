"""Intervals of a share."""

import math

import pytest
from scipy.stats import binom, binomtest

from udil_avalanche.learner.holm import holm
from udil_avalanche.learner.wilson import share_of, wilson_interval


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 20), (20, 20), (171, 200)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_interval_is_scipys(count: int, n: int, confidence: float) -> None:
    expected = binomtest(count, n).proportion_ci(confidence, method="wilson")
    found = wilson_interval(count / n, n, confidence=confidence)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_it_holds_the_truth_as_often_as_it_says() -> None:
    for truth in (0.05, 0.3, 0.9):
        held = 0.0
        for count in range(51):
            share = share_of(count, 50)
            if share.low <= truth <= share.high:
                held += float(binom.pmf(count, 50, truth))
        assert 0.92 < held < 0.99


def test_without_a_sample_nothing_is_known() -> None:
    nothing = share_of(0, 0)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (0, 1)


def test_holm_rejects_step_by_step() -> None:
    p_values = {"a": 0.02, "b": 0.04, "c": 0.001, "d": 0.6}
    assert holm(p_values, alpha=0.05) == ["c"]
    assert holm({**p_values, "a": 0.016}, alpha=0.05) == ["c", "a"]
    assert holm({"a": 0.04, "b": 0.02}, alpha=0.05) == ["b", "a"]
    assert holm({}, alpha=0.05) == []

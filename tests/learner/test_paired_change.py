"""What an update changed, on the same samples."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial, norm

from udil_avalanche.learner.paired_change import (
    PairedChange,
    changes_of_classes,
    classes_that_lost,
    drops_more_than,
    paired_change,
)


def slow_score(change: PairedChange, supposed: float) -> float:
    """The score statistic by its definition: the variance of the change under the most
    likely probabilities of loss and gain that differ by what is supposed."""
    n, lost, gained = change.n, change.n_lost, change.n_gained

    def unlikelihood(loss: float) -> float:
        gain = loss + supposed
        rest = 1 - loss - gain
        parts = [(lost, loss), (gained, gain), (n - lost - gained, rest)]
        return -sum(k * math.log(max(p, 1e-300)) for k, p in parts if k)

    bounds = (max(0.0, -supposed), (1 - supposed) / 2)
    best = minimize_scalar(
        unlikelihood, bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
    variance = (2 * best + supposed - supposed**2) / n
    return (change.change - supposed) / math.sqrt(variance)


@pytest.mark.parametrize("counts", [(20, 15, 3, 1), (200, 170, 9, 4), (50, 40, 8, 8)])
@pytest.mark.parametrize("supposed", [-0.2, -0.03, 0.0, 0.05])
def test_the_score_is_tangos(counts: tuple[int, ...], supposed: float) -> None:
    change = PairedChange(*counts)
    assert change.score(supposed) == pytest.approx(
        slow_score(change, supposed), abs=1e-3
    )


def test_without_a_drop_allowed_it_is_mcnemars_test() -> None:
    change = PairedChange(n=100, n_right_before=90, n_lost=12, n_gained=3)
    assert change.p_value() == pytest.approx(norm.cdf((3 - 12) / math.sqrt(15)))


def probabilities(n: int, gain: float, loss: float) -> np.ndarray:
    """Of each number of gained (row) and lost samples."""
    grid = np.indices((n + 1, n + 1)).reshape(2, -1).T
    rest = n - grid.sum(axis=1)
    counts = np.column_stack([grid, rest])
    found = np.zeros(len(grid))
    possible = rest >= 0
    found[possible] = multinomial.pmf(
        counts[possible], n, [gain, loss, 1 - gain - loss]
    )
    return found.reshape(n + 1, n + 1)


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("max_drop", [0.0, 0.01, 0.05])
def test_false_alarms_are_as_rare_as_said(n: int, max_drop: float) -> None:
    """Exact, for an update that costs just what is allowed: 1 %, or little more."""
    for gain in (0.002, 0.02, 0.1):
        chance = probabilities(n, gain, gain + max_drop)
        alarm = sum(
            chance[gained, lost]
            for gained in range(n + 1)
            for lost in range(n + 1 - gained)
            if chance[gained, lost] > 1e-12
            and PairedChange(n, n, lost, gained).p_value(max_drop) <= 0.01
        )
        assert alarm <= 0.017


@pytest.mark.parametrize(("gain", "loss"), [(0.05, 0.05), (0.02, 0.15), (0.1, 0.01)])
def test_the_interval_holds_the_truth_as_often_as_it_says(
    gain: float, loss: float
) -> None:
    n = 40
    chance = probabilities(n, gain, loss)
    held = 0.0
    for gained in range(n + 1):
        for lost in range(n + 1 - gained):
            if chance[gained, lost] > 1e-6:
                low, high = PairedChange(n, n, lost, gained).interval()
                held += chance[gained, lost] * (low <= gain - loss <= high)
    assert 0.92 < held < 0.99


def test_the_interval_ends_where_the_score_says() -> None:
    change = PairedChange(n=60, n_right_before=50, n_lost=7, n_gained=2)
    for end, sign in zip(change.interval(), (1, -1), strict=True):
        assert change.score(end) == pytest.approx(sign * norm.ppf(0.975), abs=1e-6)


def test_no_sample_changed() -> None:
    change = PairedChange(n=200, n_right_before=180, n_lost=0, n_gained=0)
    low, high = change.interval()
    assert -0.03 < low < 0 < high < 0.03
    assert change.p_value() == 1


def test_before_and_after() -> None:
    before = torch.tensor([1, 1, 1, 0, 0, 1]).bool()
    after = torch.tensor([1, 0, 0, 1, 0, 1]).bool()
    change = paired_change(right_before=before, right_after=after)
    assert change == PairedChange(n=6, n_right_before=4, n_lost=2, n_gained=1)
    assert change.before == pytest.approx(4 / 6)
    assert change.after == pytest.approx(3 / 6)
    with pytest.raises(ValueError, match="the same ones"):
        paired_change(right_before=before, right_after=after[1:])


def test_a_domain_without_samples_cannot_be_judged() -> None:
    nothing = PairedChange(0, 0, 0, 0)
    assert math.isnan(nothing.change)
    assert nothing.interval() == (-1, 1)
    assert drops_more_than(0.0, changes={"spring": nothing}) == []


def test_the_gate_names_the_domains_that_lost() -> None:
    changes = {
        "kept": PairedChange(200, 180, 5, 4),
        "a little": PairedChange(200, 180, 8, 4),
        "lost": PairedChange(200, 180, 40, 5),
    }
    assert drops_more_than(0.01, changes=changes) == ["lost"]
    assert drops_more_than(0.3, changes=changes) == []


def test_harmless_updates_hardly_ever_raise_an_alarm() -> None:
    """Twenty old domains, none of which loses anything, three hundred times."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        changes = {}
        for name in range(20):
            gained, lost, _ = rng.multinomial(100, [0.05, 0.05, 0.9])
            changes[str(name)] = PairedChange(100, 90, int(lost), int(gained))
        alarms += bool(drops_more_than(0.0, changes=changes))
    assert alarms <= 9


def test_classes_that_lost() -> None:
    labels = torch.arange(3).repeat_interleave(40)
    before = torch.ones(120).bool()
    after = before.clone()
    after[40:60] = False
    after[0] = False
    changes = changes_of_classes(right_before=before, right_after=after, labels=labels)
    assert changes[1] == PairedChange(40, 40, 20, 0)
    assert classes_that_lost(changes) == [1]

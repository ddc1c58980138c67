import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from udil_avalanche.evaluation import formulas
from udil_avalanche.evaluation.formulas import (
    average_accuracy,
    average_of_average_accuracy,
    forgetting,
    forward_transfer,
)

R = [
    [90.0, 40.0, 20.0],
    [70.0, 80.0, 30.0],
    [60.0, 50.0, 100.0],
]
r = [10.0, 15.0, 5.0]

accuracy_matrices = st.integers(1, 6).flatmap(
    lambda size: arrays(float, (size, size), elements=st.floats(0, 100, width=32))
)


def slow_average_accuracy(R, t):
    total = 0.0
    for i in range(1, t + 1):
        total += R[t - 1][i - 1]
    return total / t


def slow_forgetting(R, t):
    total = 0.0
    for j in range(1, t):
        drops = [R[k - 1][j - 1] - R[t - 1][j - 1] for k in range(1, t)]
        total += max(drops)
    return total / (t - 1)


def slow_forward_transfer(R, r, t):
    total = 0.0
    for i in range(2, t + 1):
        total += R[i - 2][i - 1] - r[i - 1]
    return total / (t - 1)


def test_average_accuracy_by_hand():
    assert average_accuracy(R, 1) == 90
    assert average_accuracy(R, 2) == 75
    assert average_accuracy(R, 3) == 70


def test_average_of_average_accuracy_by_hand():
    assert average_of_average_accuracy(R, 1, 3) == pytest.approx((90 + 75 + 70) / 3)
    assert average_of_average_accuracy(R, 2, 3) == 72.5
    assert average_of_average_accuracy(R, 2, 2) == 75


def test_forgetting_by_hand():
    assert forgetting(R, 2) == 20
    assert forgetting(R, 3) == (30 + 30) / 2


def test_forgetting_counts_accuracy_from_before_the_domain_was_learned():
    best_before_learning = [[90, 99, 0], [90, 80, 0], [90, 70, 0]]
    assert forgetting(best_before_learning, 3) == (0 + 29) / 2


def test_forgetting_is_negative_when_a_domain_gains():
    assert forgetting([[50, 0], [60, 0]], 2) == -10


def test_forward_transfer_by_hand():
    assert forward_transfer(R, r, 2) == 25
    assert forward_transfer(R, r, 3) == (25 + 25) / 2


@given(accuracy_matrices, st.data())
def test_against_loops(matrix, data):
    t = data.draw(st.integers(1, len(matrix)))
    t1 = data.draw(st.integers(1, t))
    assert average_accuracy(matrix, t) == pytest.approx(
        slow_average_accuracy(matrix, t)
    )
    averages = [slow_average_accuracy(matrix, i) for i in range(t1, t + 1)]
    assert average_of_average_accuracy(matrix, t1, t) == pytest.approx(
        sum(averages) / len(averages)
    )
    if t > 1:
        initial = matrix[::-1].diagonal()
        assert forgetting(matrix, t) == pytest.approx(
            slow_forgetting(matrix, t), abs=1e-9
        )
        assert forward_transfer(matrix, initial, t) == pytest.approx(
            slow_forward_transfer(matrix, initial, t), abs=1e-9
        )


def test_fractions_give_fractions():
    fractions = np.array(R) / 100
    assert average_accuracy(fractions, 3) == pytest.approx(0.70)
    assert forgetting(fractions, 3) == pytest.approx(0.30)
    assert forward_transfer(fractions, np.array(r) / 100, 3) == pytest.approx(0.25)


def test_first_domain_has_neither_forgetting_nor_forward_transfer():
    assert math.isnan(forgetting(R, 1))
    assert math.isnan(forward_transfer(R, r, 1))


def test_later_rows_and_columns_are_not_read():
    unfinished = np.array(R)
    unfinished[2] = np.nan
    unfinished[:, 2] = np.nan
    assert average_accuracy(unfinished, 2) == 75
    assert forgetting(unfinished, 2) == 20
    assert forward_transfer(unfinished, r, 2) == 25
    assert average_accuracy(R[:2], 2) == 75


def test_forgetting_does_without_accuracies_on_unseen_domains():
    lower_triangle = np.array(R)
    lower_triangle[np.triu_indices(3, k=1)] = np.nan
    assert forgetting(lower_triangle, 3) == 30
    assert math.isnan(forward_transfer(lower_triangle, r, 3))


@pytest.mark.parametrize("gap", [(0, 0), (1, 0), (1, 1), (2, 1)])
def test_forgetting_is_unknown_when_a_seen_domain_was_not_measured(gap):
    matrix = np.array(R)
    matrix[gap] = np.nan
    assert math.isnan(forgetting(matrix, 3))


def test_average_accuracy_is_unknown_when_a_domain_was_not_measured():
    matrix = np.array(R)
    matrix[2, 0] = np.nan
    assert math.isnan(average_accuracy(matrix, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_accuracy(R, 0), "count from 1"),
        (lambda: forgetting(R, 4), r"shape \(3, 3\).*at least 4 rows"),
        (lambda: average_accuracy([90, 70], 1), "two dimensions"),
        (lambda: average_of_average_accuracy(R, 3, 2), "3:2 is empty"),
        (lambda: average_of_average_accuracy(R, 0, 2), "count from 1"),
        (lambda: forward_transfer(R, [10.0, 15.0], 3), r"r has shape \(2,\)"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_module_needs_no_torch():
    source = Path(formulas.__file__)
    code = f"import runpy, sys; runpy.run_path({str(source)!r}); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "numpy" in loaded
    assert "torch" not in loaded

"""Accuracy without labels, and with them."""

import math

import pytest
import torch
from torch import Tensor

from udil_avalanche.learner.expected_accuracy import (
    expected_accuracy,
    measured_accuracy,
)


def domain(n: int, noise: float, signal: float = 3.0) -> tuple[Tensor, Tensor]:
    """Probabilities of a sensible classifier of three classes, and the labels."""
    labels = torch.randint(3, (n,))
    x = signal * torch.eye(3)[labels] + noise * torch.randn(n, 3)
    return x.softmax(dim=1), labels


def accuracy(probabilities: Tensor, labels: Tensor) -> float:
    return float((probabilities.argmax(dim=1) == labels).float().mean())


def slow_atc(reserve: tuple[Tensor, Tensor], new: Tensor) -> float:
    """As in the paper: the threshold t that a share of the reserve as large as the
    error stays below; the share of new samples that does not."""
    probabilities, labels = reserve
    confidences = sorted(row.max().item() for row in probabilities)
    n_wrong = sum(
        int(row.argmax() != y) for row, y in zip(probabilities, labels, strict=True)
    )
    threshold = confidences[n_wrong]
    return sum(row.max().item() >= threshold for row in new) / len(new)


def test_it_is_average_thresholded_confidence() -> None:
    reserve, (new, _) = domain(200, 2.0), domain(300, 3.0)
    found = expected_accuracy(reserve=[reserve], probabilities=new)
    # Between two confidences any threshold will do: one new sample more or less.
    assert found.value == pytest.approx(slow_atc(reserve, new), abs=3 / 300)
    assert found.n == 300


def test_the_interval_holds_the_accuracy_of_a_known_domain() -> None:
    inside = 0
    for _ in range(100):
        reserve = [domain(100, 2.0) for _ in range(3)]
        found = expected_accuracy(reserve=reserve, probabilities=domain(60, 2.0)[0])
        inside += found.low <= accuracy(*domain(20_000, 2.0)) <= found.high
    assert inside >= 90


def test_a_harder_domain_is_expected_to_be_harder() -> None:
    reserve = [domain(200, 1.5)]
    easy, hard = (
        expected_accuracy(reserve=reserve, probabilities=domain(500, 1.5, signal)[0])
        for signal in (3.0, 1.0)
    )
    assert hard.high < easy.low


def test_few_samples_make_a_wide_interval() -> None:
    reserve = [domain(200, 2.0), domain(200, 2.0)]
    few, many = (
        expected_accuracy(reserve=reserve, probabilities=domain(n, 2.0)[0])
        for n in (10, 1000)
    )
    assert few.high - few.low > 2 * (many.high - many.low)


def test_domains_that_differ_make_a_wide_interval() -> None:
    """One domain is as sure as the other and wrong twice as often."""
    probabilities, labels = domain(200, 1.5)
    other = labels.clone()
    other[:60] = (probabilities[:60].argmax(dim=1) + 1) % 3
    new = domain(1000, 1.5)[0]
    alike = [(probabilities, labels)] * 2
    differ = [(probabilities, labels), (probabilities, other)]
    narrow, wide = (
        expected_accuracy(reserve=each, probabilities=new) for each in (alike, differ)
    )
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_a_model_that_is_never_wrong_and_ties() -> None:
    sure = torch.eye(3)[torch.arange(30) % 3]
    labels = torch.arange(30) % 3
    assert expected_accuracy(reserve=[(sure, labels)], probabilities=sure).value == 1
    labels[:6] = (labels[:6] + 1) % 3
    found = expected_accuracy(reserve=[(sure, labels)], probabilities=sure)
    assert found.value == pytest.approx(24 / 30), "all confidences are the same"


def test_with_labels_it_is_measured() -> None:
    probabilities, labels = domain(80, 3.0)
    found = measured_accuracy(probabilities=probabilities, labels=labels)
    assert found.value == pytest.approx(accuracy(probabilities, labels))
    assert found.low < found.value < found.high
    assert found.n == 80


def test_nothing_to_go_by() -> None:
    with pytest.raises(ValueError, match="reserve"):
        expected_accuracy(reserve=[], probabilities=torch.rand(3, 2))
    empty = expected_accuracy(reserve=[domain(9, 1)], probabilities=torch.rand(0, 3))
    assert math.isnan(empty.value)
    assert (empty.low, empty.high) == (0, 1)

"""Confusions, accuracies of classes and calibration."""

import math

import pytest
import torch

from udil_avalanche.learner.calibration import (
    class_accuracies,
    confusion_matrix,
    expected_calibration_error,
    reliability_bins,
)


def test_rows_are_true_and_columns_predicted() -> None:
    predicted, labels = torch.tensor([0, 2, 1, 1, 2]), torch.tensor([0, 0, 1, 2, 2])
    found = confusion_matrix(predicted=predicted, labels=labels, n_classes=4)
    expected = torch.zeros(4, 4)
    for row, column in zip(labels, predicted, strict=True):
        expected[row, column] += 1
    assert found.tolist() == expected.tolist()
    accuracies = class_accuracies(found)
    assert [each.value for each in accuracies[:3]] == [0.5, 1.0, 0.5]
    assert [each.n for each in accuracies] == [2, 1, 2, 0]
    assert math.isnan(accuracies[3].value)


def test_the_calibration_error_is_that_of_the_formula() -> None:
    probabilities = torch.rand(500, 4).softmax(dim=1).pow(3)
    probabilities /= probabilities.sum(dim=1, keepdim=True)
    labels = torch.randint(4, (500,))
    confidence, predicted = probabilities.max(dim=1)
    expected, n_all = 0.0, 0
    for k in range(10):
        inside = [i for i in range(500) if k / 10 < confidence[i] <= (k + 1) / 10]
        if inside:
            right = sum(int(predicted[i] == labels[i]) for i in inside) / len(inside)
            sure = sum(confidence[i].item() for i in inside) / len(inside)
            expected += len(inside) / 500 * abs(right - sure)
            n_all += len(inside)
    bins = reliability_bins(probabilities=probabilities, labels=labels)
    assert n_all == sum(each.accuracy.n for each in bins) == 500
    assert expected_calibration_error(bins) == pytest.approx(expected, abs=1e-6)


def test_a_calibrated_model_has_no_error_and_a_boaster_has() -> None:
    confidence = 0.5 + torch.rand(20_000) / 2
    labels = (torch.rand(20_000) > confidence).long()
    honest = torch.stack([confidence, 1 - confidence], dim=1)
    bins = reliability_bins(probabilities=honest, labels=labels)
    assert expected_calibration_error(bins) < 0.02
    boaster = torch.tensor([[1.0, 0.0]]).expand(20_000, 2)
    bins = reliability_bins(probabilities=boaster, labels=labels)
    assert expected_calibration_error(bins) == pytest.approx(0.25, abs=0.02)


def test_without_a_sample() -> None:
    bins = reliability_bins(
        probabilities=torch.zeros(0, 3), labels=torch.zeros(0, dtype=torch.long)
    )
    assert len(bins) == 10
    assert math.isnan(expected_calibration_error(bins))

"""What a model mistakes for what, and whether it is as sure as it is right."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from udil_avalanche.learner.wilson import Share, share_of


@dataclass(frozen=True)
class ReliabilityBin:
    """Samples on which a model is about equally sure.

    :param low: the smallest confidence of the bin.
    :param high: the largest confidence of the bin.
    :param confidence: the mean confidence of its samples; NaN without a sample.
    :param accuracy: the share of them that the model is right about.
    """

    low: float
    high: float
    confidence: float
    accuracy: Share


def confusion_matrix(*, predicted: Tensor, labels: Tensor, n_classes: int) -> Tensor:
    """How many samples of each class were taken for each class: row = true class,
    column = predicted class.

    :param predicted: predicted classes.
    :param labels: true classes.
    :param n_classes: number of classes.
    """
    cells = torch.bincount(labels * n_classes + predicted, minlength=n_classes**2)
    return cells.view(n_classes, n_classes)


def class_accuracies(confusion: Tensor, *, confidence: float = 0.95) -> list[Share]:
    """The accuracy on each class, with Wilson's interval.

    :param confusion: see :func:`confusion_matrix`.
    :param confidence: how often the intervals are to hold the truth.
    """
    right, all_of_class = confusion.diagonal().tolist(), confusion.sum(dim=1).tolist()
    return [
        share_of(count, n, confidence=confidence)
        for count, n in zip(right, all_of_class, strict=True)
    ]


def reliability_bins(
    *, probabilities: Tensor, labels: Tensor, n_bins: int = 10
) -> list[ReliabilityBin]:
    """Samples sorted by the model's confidence into bins of equal width, which a
    reliability diagram shows.

    :param probabilities: of each class, one row per sample.
    :param labels: true classes.
    :param n_bins: number of bins.
    """
    confidences, predicted = probabilities.double().max(dim=1)
    right = predicted == labels
    # A confidence on a border belongs to the bin below, as in Guo et al. (2017).
    places = ((confidences * n_bins).ceil().long() - 1).clamp(0, n_bins - 1)
    bins = []
    for k in range(n_bins):
        inside = places == k
        n = int(inside.sum())
        mean = float(confidences[inside].mean()) if n else math.nan
        accuracy = share_of(int(right[inside].sum()), n)
        bins.append(ReliabilityBin(k / n_bins, (k + 1) / n_bins, mean, accuracy))
    return bins


def expected_calibration_error(bins: list[ReliabilityBin]) -> float:
    r"""The mean difference of confidence and accuracy,
    :math:`\sum_k \frac{n_k}{n} |acc_k - conf_k|` (Guo et al., 2017): 0 if the model is
    right as often as it says.

    :param bins: see :func:`reliability_bins`.
    :return: NaN without a sample.
    """
    filled = [each for each in bins if each.accuracy.n]
    n = sum(each.accuracy.n for each in filled)
    if not n:
        return math.nan
    differences = (
        each.accuracy.n * abs(each.accuracy.value - each.confidence) for each in filled
    )
    return sum(differences) / n

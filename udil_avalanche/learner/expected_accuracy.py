"""The accuracy on new samples: expected without labels, measured with them."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from udil_avalanche.learner.wilson import (
    Share,
    normal_quantile,
    share_of,
    wilson_interval,
)

FEWEST_OF_A_DOMAIN = 10
"""A domain with fewer samples in the reserve does not show how well another one's
accuracy is predicted."""


def measured_accuracy(
    *, probabilities: Tensor, labels: Tensor, confidence: float = 0.95
) -> Share:
    """The share of samples whose most probable class is the true one, with Wilson's
    interval.

    :param probabilities: of each class, one row per sample. Logits do as well.
    :param labels: true classes.
    :param confidence: how often the interval is to hold the truth.
    """
    right = probabilities.argmax(dim=1) == labels
    return share_of(int(right.sum()), len(right), confidence=confidence)


def expected_accuracy(
    *,
    reserve: Sequence[tuple[Tensor, Tensor]],
    probabilities: Tensor,
    confidence: float = 0.95,
) -> Share:
    """The accuracy to expect on samples without labels: average thresholded confidence
    (Garg et al., 2022). The threshold is the confidence that as many samples of the
    reserve stay below as the model is wrong about. The share of new samples above it is
    the expected accuracy.

    Differences of confidences, calibrated confidences and thresholded margins were
    tried as well, and were much too high on a new domain of rotated MNIST;
    ``python -m bench.drift`` shows what this one is worth there. Far away from all
    domains it is too high, too: a network is sure of itself where nothing is known. So
    read it together with the divergence.

    The interval adds up three doubts: the number of new samples; the number of samples
    in the reserve; and how wrong the method is about domains that are known, each
    predicted from the reserves of all others. It does not know how wrong the method is
    about domains that are unlike all others.

    :param reserve: for each domain the model's probabilities on its reserve, one row
        per sample, and the labels. The samples must not have been trained on: of those
        the model is too sure.
    :param probabilities: the model's probabilities for the new samples.
    :param confidence: how often the interval is to hold the truth.
    """
    known = [each for each in reserve if len(each[1])]
    if not known:
        raise ValueError(
            "The accuracy to expect is found by the reserve, and there is none. Give "
            "labels to measure the accuracy, or keep a reserve."
        )
    if len(probabilities) == 0:
        return Share(math.nan, 0.0, 1.0, 0)
    scores, right = _joined(known)
    value = _above_threshold(scores, right, _confidences(probabilities))
    accuracy = float(right.mean())
    at_new = wilson_interval(value, len(probabilities), confidence=confidence)
    at_reserve = wilson_interval(accuracy, len(right), confidence=confidence)
    doubt = normal_quantile(confidence) * _method_error(known)
    below = math.hypot(value - at_new[0], accuracy - at_reserve[0], doubt)
    above = math.hypot(at_new[1] - value, at_reserve[1] - accuracy, doubt)
    return Share(
        value, max(0.0, value - below), min(1.0, value + above), len(probabilities)
    )


def _confidences(probabilities: Tensor) -> Tensor:
    return probabilities.detach().cpu().double().max(dim=1).values


def _joined(reserve: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Confidences, and whether the most probable class is right, of all domains."""
    scores = torch.cat([_confidences(p) for p, _ in reserve])
    right = torch.cat([(p.argmax(dim=1) == y).cpu().double() for p, y in reserve])
    return scores, right


def _above_threshold(scores: Tensor, right: Tensor, new: Tensor) -> float:
    """The share of new confidences above the threshold that as many of ``scores`` are
    below as are not right. Where confidences are equal, as they are at 1, those at the
    threshold count in part."""
    n_wrong = int((1 - right).sum())
    if n_wrong == 0:
        return 1.0
    ordered = scores.sort().values
    threshold = ordered[n_wrong - 1]
    n_below = int((scores < threshold).sum())
    n_equal = int((scores == threshold).sum())
    passed = 1 - (n_wrong - n_below) / n_equal
    above = (new > threshold).double() + passed * (new == threshold).double()
    return float(above.mean())


def _method_error(reserve: Sequence[tuple[Tensor, Tensor]]) -> float:
    """The root mean square error over the domains known, each predicted from the
    others; 0 with a single domain, of which it cannot be found."""
    errors = []
    for i, (probabilities, labels) in enumerate(reserve):
        others = [*reserve[:i], *reserve[i + 1 :]]
        if others and len(labels) >= FEWEST_OF_A_DOMAIN:
            scores, right = _joined(others)
            found = _above_threshold(scores, right, _confidences(probabilities))
            errors.append(found - float(_joined([reserve[i]])[1].mean()))
    return math.sqrt(sum(e**2 for e in errors) / len(errors)) if errors else 0.0

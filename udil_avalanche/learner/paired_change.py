"""Accuracy before and after an update, on the same samples."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

from udil_avalanche.learner.holm import holm
from udil_avalanche.learner.wilson import normal_quantile

ALPHA = 0.01
"""How often an update that costs no domain more than is allowed may raise an alarm."""


@dataclass(frozen=True)
class PairedChange:
    """How an accuracy changed on samples that both models were tested on.

    :param n: number of samples.
    :param n_right_before: samples that the model was right about before the update.
    :param n_lost: samples that only the model before was right about.
    :param n_gained: samples that only the model after is right about.
    """

    n: int
    n_right_before: int
    n_lost: int
    n_gained: int

    @property
    def before(self) -> float:
        """Accuracy before the update; NaN without a sample."""
        return self.n_right_before / self.n if self.n else math.nan

    @property
    def after(self) -> float:
        """Accuracy after the update; NaN without a sample."""
        return self.before + self.change

    @property
    def change(self) -> float:
        """Accuracy after minus accuracy before; NaN without a sample."""
        return (self.n_gained - self.n_lost) / self.n if self.n else math.nan

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Tango's score interval of the change (1998). Samples on which both models are
        right or both are wrong say nothing about the change, so it is narrower than the
        difference of two intervals; and it is right for few samples, also if none of
        them changed.

        :param confidence: how often the interval is to hold the truth.
        """
        if not self.n:
            return -1.0, 1.0
        z = normal_quantile(confidence)
        return self._end(-1.0, z), self._end(1.0, z)

    def _end(self, outside: float, z: float) -> float:
        """The change between that found and ``outside`` at which :meth:`score` is z
        standard deviations from 0, by bisection."""
        inside = self.change
        for _ in range(60):
            middle = (inside + outside) / 2
            if abs(self.score(middle)) < z:
                inside = middle
            else:
                outside = middle
        return (inside + outside) / 2

    def score(self, change: float) -> float:
        """Tango's score statistic: how many standard deviations the change found is
        above a supposed one.

        :param change: the supposed true change, in [-1, 1].
        """
        b, c, n = self.n_gained, self.n_lost, self.n
        linear = -b - c + (2 * n - b + c) * change
        constant = -c * change * (1 - change)
        root = math.sqrt(max(0.0, linear**2 - 8 * n * constant))
        lost = max(0.0, (root - linear) / (4 * n))
        variance = n * (2 * lost + change * (1 - change))
        excess = b - c - n * change
        if variance <= 1e-12:
            return math.copysign(math.inf, excess) if abs(excess) > 1e-9 else 0.0
        return excess / math.sqrt(variance)

    def p_value(self, max_drop: float = 0.0) -> float:
        """How often so many samples would be lost by chance if the accuracy fell by
        ``max_drop`` and no more (Tango's test of non-inferiority, one-sided).

        :param max_drop: the drop that is allowed, as a share: 0.01 is a point.
        """
        if not self.n or -self.change <= max_drop:
            return 1.0
        return NormalDist().cdf(self.score(-max_drop))


def paired_change(*, right_before: Tensor, right_after: Tensor) -> PairedChange:
    """Compare two models on the same samples.

    :param right_before: whether the model before the update is right about each sample.
    :param right_after: the same for the model after it.
    """
    if len(right_before) != len(right_after):
        raise ValueError(
            f"{len(right_before)} samples before and {len(right_after)} after the "
            "update: they have to be the same ones."
        )
    before, after = right_before.bool(), right_after.bool()
    return PairedChange(
        n=len(before),
        n_right_before=int(before.sum()),
        n_lost=int((before & ~after).sum()),
        n_gained=int((~before & after).sum()),
    )


def drops_more_than(
    max_drop: float, *, changes: Mapping[str, PairedChange], alpha: float = ALPHA
) -> list[str]:
    """The old domains that lost more than is allowed, beyond chance.

    Every domain is tested, so one of many would seem to lose by chance alone. Holm's
    correction keeps the chance of any false alarm at alpha, whatever the number of
    domains. By default it is 1 in 100 updates: a gate that cries wolf is switched off.

    :param max_drop: the drop that is allowed, as a share: 0.01 is a point.
    :param changes: by domain. One without samples cannot be judged and raises no alarm.
    :param alpha: how often an update that costs no domain more than ``max_drop`` may
        raise an alarm.
    """
    return holm(
        {name: each.p_value(max_drop) for name, each in changes.items()}, alpha=alpha
    )


def changes_of_classes(
    *, right_before: Tensor, right_after: Tensor, labels: Tensor
) -> dict[int, PairedChange]:
    """The change of every class that there are samples of.

    :param right_before: whether the model before the update is right about each sample.
    :param right_after: the same for the model after it.
    :param labels: true classes.
    """
    return {
        label: paired_change(
            right_before=right_before[labels == label],
            right_after=right_after[labels == label],
        )
        for label in torch.unique(labels).tolist()
    }


def classes_that_lost(
    changes: Mapping[int, PairedChange], *, alpha: float = 0.05
) -> list[int]:
    """The classes that lost accuracy beyond chance, by Holm's correction for the number
    of classes.

    :param changes: see :func:`changes_of_classes`.
    :param alpha: how often a class that lost nothing may be named.
    """
    return holm({label: each.p_value() for label, each in changes.items()}, alpha=alpha)

"""Differences between two methods on the same seeds and domains."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

CONFIDENCE = 0.95
FEWEST_PAIRS = 3
"""With fewer pairs there is no interval: it would be too wide to say anything."""


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences.

    :param mean: the mean.
    :param margin: how far the t-interval extends to each side of it; None if there are
        too few pairs.
    """

    mean: float
    margin: float | None = None

    @classmethod
    def of(cls, differences: Sequence[float]) -> "Difference | None":
        """The mean of some differences, one for each pair; None if there are none.

        :param differences: the differences.
        """
        pairs = len(differences)
        if not pairs:
            return None
        mean = statistics.fmean(differences)
        if pairs < FEWEST_PAIRS:
            return cls(mean)
        quantile = float(stdtrit(pairs - 1, (1 + CONFIDENCE) / 2))
        return cls(mean, quantile * statistics.stdev(differences) / math.sqrt(pairs))

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.margin is not None and abs(self.mean) > self.margin

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.2f}"
        return f"{self.mean:+.2f}{margin}"


def signed_rank_p(differences: Sequence[float]) -> float:
    """The p-value of Wilcoxon's signed-rank test, two-sided: how likely differences so
    one-sided are if neither method is better.

    :param differences: one for each pair; pairs without a difference do not count.
    """
    from scipy.stats import wilcoxon

    if not any(differences):
        return 1.0
    return float(wilcoxon(differences).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, as Holm does: the smallest of m is multiplied
    by m, the next by m - 1, and none may be smaller than the one before it.

    :param p_values: the p-values of some tests.
    :return: the adjusted ones, in the same order.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for smaller, place in enumerate(order):
        largest = max(largest, (len(order) - smaller) * p_values[place])
        adjusted[place] = min(largest, 1.0)
    return adjusted

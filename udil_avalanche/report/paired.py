"""Differences between two methods on the same seeds."""

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

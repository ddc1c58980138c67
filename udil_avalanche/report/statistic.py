"""Mean and standard deviation over seeds."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statistic:
    """A mean over seeds.

    :param mean: the mean.
    :param deviation: the sample standard deviation (n - 1); None for one seed.
    """

    mean: float
    deviation: float | None = None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Statistic | None":
        """The statistic of some values; None if there are none or one is missing.

        :param values: one for each seed; None or NaN if it was not measured.
        """
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values) or any(map(math.isnan, known)):
            return None
        deviation = statistics.stdev(known) if len(known) > 1 else None
        return cls(statistics.fmean(known), deviation)

    def is_clear_of(self, other: "Statistic") -> bool:
        """Whether the means differ by more than either deviation.

        :param other: the statistic to compare with.
        :return: False if a deviation is unknown.
        """
        if self.deviation is None or other.deviation is None:
            return False
        return abs(self.mean - other.mean) > max(self.deviation, other.deviation)

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        return f"{self.mean:.1f}{spread}"

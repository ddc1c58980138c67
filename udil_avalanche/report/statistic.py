"""Mean and standard deviation over seeds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statistic:
    """A mean over seeds.

    :param mean: the mean.
    :param deviation: the standard deviation of a sample (n - 1); None for one seed.
    """

    mean: float
    deviation: float | None = None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Statistic | None":
        """Over these values; None if one of them is missing or there are none.

        :param values: one for each seed.
        """
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        deviation = statistics.stdev(known) if len(known) > 1 else None
        return cls(statistics.fmean(known), deviation)

    def is_clear_of(self, other: "Statistic") -> bool:
        """Whether the means lie further apart than either deviation.

        :param other: what it is compared with.
        :return: False where a deviation is unknown.
        """
        if self.deviation is None or other.deviation is None:
            return False
        return abs(self.mean - other.mean) > max(self.deviation, other.deviation)

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        return f"{self.mean:.1f}{spread}"


__all__ = ["Statistic"]

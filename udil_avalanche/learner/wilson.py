"""Intervals of a share."""

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Share:
    """A share of samples, such as an accuracy, with its interval.

    :param value: the share; NaN without a sample.
    :param low: lower end of the interval.
    :param high: upper end of the interval.
    :param n: number of samples.
    """

    value: float
    low: float
    high: float
    n: int


def normal_quantile(confidence: float) -> float:
    """How many standard deviations a two-sided interval extends to each side.

    :param confidence: how often the interval is to hold the truth, such as 0.95.
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson_interval(
    share: float, n: float, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson's score interval of a share. Unlike share ± 2 standard errors it stays in
    [0, 1], and it has a width also where none or all of few samples count.

    :param share: the share that was found.
    :param n: number of samples, or of independent samples that are worth as much; with
        none the interval is [0, 1].
    :param confidence: how often the interval is to hold the truth.
    """
    if n <= 0:
        return 0.0, 1.0
    z = normal_quantile(confidence)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    spread = math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    # Rounding must not put the share itself outside.
    low, high = min(share, centre - z * spread), max(share, centre + z * spread)
    return max(0.0, low), min(1.0, high)


def share_of(count: int, n: int, *, confidence: float = 0.95) -> Share:
    """A share with Wilson's interval.

    :param count: samples that count.
    :param n: all samples.
    :param confidence: how often the interval is to hold the truth.
    """
    if n == 0:
        return Share(math.nan, 0.0, 1.0, 0)
    return Share(count / n, *wilson_interval(count / n, n, confidence=confidence), n=n)

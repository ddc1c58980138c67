"""Timing things in turns, so that a busy machine slows all of them down alike."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from avalanche.training.plugins import SupervisedPlugin

Timed = Callable[[], float]
"""Does something and returns how long it took, in seconds."""


def seconds(do: Callable[[], Any]) -> float:
    """The time that a call takes.

    :param do: what to call.
    """
    begin = time.perf_counter()
    do()
    return time.perf_counter() - begin


def by_turns(cases: dict[str, Timed], repeats: int) -> dict[str, list[float]]:
    """Time all cases, one after the other, several times.

    :param cases: by name.
    :param repeats: how many times.
    :return: the times of each.
    """
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, case in cases.items():
            times[name].append(case())
    return times


def median_ratio(numerators: list[float], denominators: list[float]) -> float:
    """The median of the ratios of what was measured in the same turn.

    :param numerators: one value per turn.
    :param denominators: one value per turn.
    """
    pairs = zip(numerators, denominators, strict=True)
    return median(a / b for a, b in pairs)


class LapsPlugin(SupervisedPlugin):  # type: ignore[misc,unused-ignore]
    """Times every step of a strategy, including plugins, metrics and data loading, and
    other things in turns with it.

    :param rivals: what to time after each step, by name. Their time is not part of the
        step's.
    """

    def __init__(self, rivals: dict[str, Timed] | None = None) -> None:
        super().__init__()
        self.rivals = rivals or {}
        self.steps: list[float] = []
        """Seconds of each step."""
        self.rival_times: dict[str, list[float]] = {name: [] for name in self.rivals}
        """Seconds of each rival after each step."""
        self.start = 0.0
        """Seconds from the beginning of the domain to that of its first step."""
        self._mark = 0.0

    def restart(self) -> None:
        """Forget all laps. Call this right before the training that is measured."""
        self.__init__(self.rivals)  # type: ignore[misc]
        self._mark = time.perf_counter()

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        """Note how long the start took, and begin the first lap."""
        now = time.perf_counter()
        if not self.steps:
            self.start = now - self._mark
        self._mark = now

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """End the lap, and give the rivals their turn."""
        self.steps.append(time.perf_counter() - self._mark)
        for name, rival in self.rivals.items():
            self.rival_times[name].append(rival())
        self._mark = time.perf_counter()


__all__ = ["LapsPlugin", "Timed", "by_turns", "median_ratio", "seconds"]

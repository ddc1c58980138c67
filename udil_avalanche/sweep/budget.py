"""What a search may try: the same number of settings for every method."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import nearest
from udil_avalanche.settings import RunSettings, keeps_samples
from udil_avalanche.settings.roles import DATA_SETTINGS, FIRST_SEED_FOR_CHOOSING
from udil_avalanche.sweep.reserved import refuse_reserved
from udil_avalanche.sweep.values import combinations, mapping_of

KEYS = ("trials", "validation", "ranges")
DEFAULT_VALIDATION = 0.1
OF_THE_DATA = ("validation", "data", "train_per_domain", *DATA_SETTINGS)
"""What decides on which samples a trial learns and is compared; the held-out ones are
among the training samples that are used."""


@dataclass(frozen=True)
class Budget:
    """What is tried.

    :param trials: for each strategy, the settings to try; equally many for each.
    :param validation: share of the training data that they are compared on.
    """

    trials: dict[str, list[dict[str, Any]]]
    validation: float

    @property
    def options(self) -> dict[str, Any]:
        """The settings that all runs of the search have."""
        return {"validation": self.validation}

    def check(self, runs: Sequence[RunSettings]) -> None:
        """Refuse runs that would choose by what is reported, or that do not compare,
        whoever has set that.

        :param runs: the runs of the search.
        :raises SettingsError: if one tests on the test data or has a reported seed, or
            if two have other data, or keep more samples, than each other.
        """
        for benchmark in dict.fromkeys(run.benchmark for run in runs):
            _refuse_differences([run for run in runs if run.benchmark == benchmark])
        for run in runs:
            if run.seed < FIRST_SEED_FOR_CHOOSING:
                raise SettingsError(
                    f"a search runs on seeds from {FIRST_SEED_FOR_CHOOSING} on, which "
                    f"are not reported; it has {run.seed}"
                )
            if run.validation <= 0:
                raise SettingsError(
                    "a search compares on held-out training data: validation must be "
                    "above 0"
                )


def budget_of(
    search: dict[str, Any], strategies: Sequence[str], sizes: Sequence[Any]
) -> Budget:
    """Check a search and choose what it tries.

    Where there are more combinations than trials, the trials are a random draw from
    them, always the same one.

    :param search: ``trials``, ``ranges`` (for each strategy, or for ``all``) and
        perhaps ``validation``, as written in the sweep.
    :param strategies: the strategies of the sweep.
    :param sizes: its sizes of the memory.
    :raises SettingsError: if it could not choose fairly.
    """
    search = {nearest(key, KEYS, "entry of search"): search[key] for key in search}
    if not isinstance(search.get("trials"), int) or search["trials"] < 1:
        raise SettingsError("search needs trials: how many settings each method gets")
    if len(sizes) > 1:
        raise SettingsError("a search has one size of the memory, not several")
    try:
        validation = float(search.get("validation", DEFAULT_VALIDATION))
    except (TypeError, ValueError):
        validation = math.nan
    if not 0 < validation < 1:
        raise SettingsError("search: validation must be above 0 and below 1")
    if not search.get("ranges"):
        raise SettingsError("search needs ranges: settings to try for each strategy")
    by_strategy = {
        nearest(name, [*strategies, "all"], "strategy of the sweep"): mapping_of(
            f"ranges of {name}", entry
        )
        for name, entry in mapping_of("ranges", search["ranges"]).items()
    }
    for entry in by_strategy.values():
        refuse_reserved(entry, "ranges")
    trials = {
        strategy: _draw(
            strategy,
            combinations(by_strategy.get("all", {}) | by_strategy.get(strategy, {})),
            search["trials"],
        )
        for strategy in strategies
    }
    return Budget(trials, validation)


def _refuse_differences(runs: Sequence[RunSettings]) -> None:
    keeping = [run for run in runs if keeps_samples(run.strategy)]
    of_all = [(key, runs) for key in OF_THE_DATA]
    for key, compared in [*of_all, ("memory", keeping)]:
        values = {getattr(run, key) for run in compared if hasattr(run, key)}
        if len(values) > 1:
            raise SettingsError(
                f"a search compares what has the same {key}; it has "
                f"{' and '.join(map(str, sorted(values, key=str)))}"
            )


def _draw(
    strategy: str, possible: list[dict[str, Any]], trials: int
) -> list[dict[str, Any]]:
    if len(possible) < trials:
        raise SettingsError(
            f"{strategy} has {len(possible)} settings to try, but every method gets "
            f"{trials}: name more values, or fewer trials"
        )
    if len(possible) == trials:
        return possible
    return random.Random(0).sample(possible, trials)


__all__ = ["Budget", "budget_of"]

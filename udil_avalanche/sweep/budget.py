"""What a search tries: the same number of settings for every method."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import METHODS, Role, RunSettings
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.settings import FIRST_SEED_FOR_CHOOSING, names_with
from udil_avalanche.sweep.entries import (
    combinations,
    mapping_of,
    refuse_reserved,
    values_of,
)

KEYS = ("trials", "validation", "domains", "ranges", "final_seeds")
DEFAULT_VALIDATION = 0.1
SAME_FOR_ALL = {"validation", "data", "train_per_domain"}
"""Settings besides those of the task that decide which samples a trial learns from and
is compared on."""


@dataclass(frozen=True)
class Budget:
    """What a search tries.

    :param trials: for each strategy, the settings to try; the same number for each.
    :param options: the settings of all runs: the share of the training data that they
        are compared on.
    :param domains: how many of the first domains of a stream a trial learns: what is
        known of a stream when it begins. None for all of them.
    :param final_seeds: the seeds, which are reported, on which the chosen settings
        learn the whole stream; none for a search that only chooses.
    """

    trials: dict[str, list[dict[str, Any]]]
    options: dict[str, Any]
    domains: int | None = None
    final_seeds: tuple[int, ...] = ()

    def overrides(self, written: Sequence[str]) -> list[str]:
        """The settings of the command line as they are for a trial: how many domains it
        learns is for the search to say, if it says so.

        :param written: the settings of all runs, as ``key=value``.
        """
        if self.domains is None:
            return list(written)
        kept = [
            each for each in written if plain_name(each.partition("=")[0]) != "domains"
        ]
        return [*kept, f"domains={self.domains}"]

    def check(self, runs: Sequence[RunSettings]) -> None:
        """Refuse runs that would choose settings by reported results, or that cannot be
        compared.

        :param runs: the runs of the search, with the settings of the command line.
        :raises SettingsError: if a run tests on the test data or has a reported seed,
            or if runs have different data or keep different numbers of samples.
        """
        for benchmark in dict.fromkeys(run.benchmark for run in runs):
            _refuse_differences([run for run in runs if run.benchmark == benchmark])
        for run in runs:
            if run.seed < FIRST_SEED_FOR_CHOOSING:
                raise SettingsError(
                    f"a search runs on seeds from {FIRST_SEED_FOR_CHOOSING} on, which "
                    f"are not reported; this one has seed {run.seed}"
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

    If there are more combinations than trials, the trials are a random sample of them,
    always the same one.

    :param search: ``trials``, ``ranges`` (for each strategy, or for ``all``) and
        perhaps ``validation``, ``domains`` and ``final_seeds``, as written in the
        sweep.
    :param strategies: the strategies of the sweep.
    :param sizes: its sizes of the memory.
    :raises SettingsError: if the search is malformed or could not be fair.
    """
    search = {nearest(key, KEYS, "entry of search"): search[key] for key in search}
    if not isinstance(search.get("trials"), int) or search["trials"] < 1:
        raise SettingsError("search needs trials: how many settings each method gets")
    if len(sizes) > 1:
        raise SettingsError("a search has one size of the memory, not several")
    if not search.get("ranges"):
        raise SettingsError("search needs ranges: settings to try for each strategy")
    ranges = {}
    for name, entry in mapping_of("ranges", search["ranges"]).items():
        strategy = nearest(name, [*strategies, "all"], "strategy of the sweep")
        ranges[strategy] = mapping_of(f"ranges of {name}", entry)
        refuse_reserved(ranges[strategy], "ranges")
    trials = {}
    for strategy in strategies:
        possible = combinations(ranges.get("all", {}) | ranges.get(strategy, {}))
        trials[strategy] = _draw(strategy, possible, search["trials"])
    held_out = search.get("validation", DEFAULT_VALIDATION)
    domains, finals = _domains(search), _final_seeds(search)
    return Budget(trials, {"validation": held_out}, domains, finals)


def _domains(search: dict[str, Any]) -> int | None:
    domains = search.get("domains")
    if domains is not None and (not isinstance(domains, int) or domains < 1):
        raise SettingsError("domains of search: how many of the first ones are learned")
    return domains


def _final_seeds(search: dict[str, Any]) -> tuple[int, ...]:
    seeds = values_of("final_seeds", search.get("final_seeds", [None]))
    if seeds == [None]:
        return ()
    if not all(
        isinstance(seed, int) and 0 <= seed < FIRST_SEED_FOR_CHOOSING for seed in seeds
    ):
        raise SettingsError(
            f"final_seeds are reported: whole numbers below {FIRST_SEED_FOR_CHOOSING}"
        )
    return tuple(seeds)


def _refuse_differences(runs: Sequence[RunSettings]) -> None:
    keeping = [run for run in runs if METHODS[run.strategy].has_memory]
    same = SAME_FOR_ALL.union(*(names_with(Role.TASK, type(run)) for run in runs))
    of_all = [(key, runs) for key in sorted(same)]
    for key, compared in [*of_all, ("memory", keeping)]:
        values = {getattr(run, key) for run in compared if hasattr(run, key)}
        if len(values) > 1:
            raise SettingsError(
                f"a search compares only runs with the same {key}; this one has "
                f"{' and '.join(map(str, sorted(values, key=str)))}"
            )


def _draw(
    strategy: str, possible: list[dict[str, Any]], trials: int
) -> list[dict[str, Any]]:
    if len(possible) < trials:
        raise SettingsError(
            f"{strategy} has {len(possible)} settings to try, but every method gets "
            f"{trials}: list more values, or ask for fewer trials"
        )
    if len(possible) == trials:
        return possible
    return random.Random(0).sample(possible, trials)

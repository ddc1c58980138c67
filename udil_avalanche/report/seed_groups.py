"""A cell of a table: the runs that differ in nothing but their seed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from udil_avalanche.formatting import differing, settings_in_words
from udil_avalanche.report.collect import Run
from udil_avalanche.report.statistic import Statistic


@dataclass(frozen=True)
class SeedGroup:
    """Runs by the same settings on several seeds.

    :param runs: the runs, by seed.
    :param variant: what tells it from other settings of the same method on the same
        problem, and how many training samples it used if others used more or fewer;
        else empty.
    """

    runs: tuple[Run, ...]
    variant: str = ""

    @property
    def method(self) -> str:
        """The strategy."""
        return self.runs[0].method

    @property
    def benchmark(self) -> str:
        """What was learned."""
        return self.runs[0].benchmark

    @property
    def memory(self) -> int:
        """Samples kept of past domains."""
        return self.runs[0].memory

    @property
    def problem(self) -> dict[str, Any]:
        """How the data differ from the benchmark's."""
        return self.runs[0].problem

    @property
    def train_per_domain(self) -> int | None:
        """How many training samples of a domain it used; None for all."""
        return self.runs[0].train_per_domain

    @property
    def seeds(self) -> list[int]:
        """The seeds that it is the mean of."""
        return [run.seed for run in self.runs]

    @property
    def anchor(self) -> str:
        """A name for links to it, of letters that need no quoting."""
        return "cell-" + re.sub(r"[^\w+-]", "-", self.runs[0].identity)

    @property
    def seconds(self) -> float:
        """The median duration of a run: one that had to share the machine with others
        takes several times as long and would spoil a mean."""
        return median(run.result["seconds"] for run in self.runs)

    def figure(self, metric: str) -> Statistic | None:
        """Mean and deviation of a metric; None if it was not measured.

        :param metric: an entry of ``result.json``.
        """
        return Statistic.of([run.result.get(metric) for run in self.runs])

    @property
    def peak_memory(self) -> float | None:
        """The median peak memory in MB of the runs that have measured it."""
        found = [run.result.get("peak_memory_mb") for run in self.runs]
        measured = [megabytes for megabytes in found if megabytes is not None]
        return median(measured) if measured else None


def seed_groups_of(runs: Sequence[Run]) -> list[SeedGroup]:
    """Put runs that differ only in their seed together.

    Different settings of one method are cells of their own, never mixed: each is named
    by the settings in which it differs.

    :param runs: the runs.
    """
    by_recipe: dict[str, list[Run]] = {}
    for run in runs:
        by_recipe.setdefault(_text([_place(run), run.recipe]), []).append(run)
    by_place: dict[str, list[list[Run]]] = {}
    samples: dict[str, set[int | None]] = {}
    for group in by_recipe.values():
        run = group[0]
        by_place.setdefault(_place(run), []).append(group)
        samples.setdefault(_problem(run), set()).add(run.train_per_domain)
    return [
        SeedGroup(tuple(sorted(group, key=lambda run: run.seed)), variant)
        for groups in by_place.values()
        for group, variant in zip(
            groups,
            _variants(groups, name_samples=len(samples[_problem(groups[0][0])]) > 1),
            strict=True,
        )
    ]


def _problem(run: Run) -> str:
    return _text([run.benchmark, run.problem])


def _place(run: Run) -> str:
    return _text([_problem(run), run.memory, run.method])


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _variants(groups: list[list[Run]], name_samples: bool) -> list[str]:
    recipes = [group[0].recipe for group in groups]
    keys = differing(recipes)
    samples = "train_per_domain"
    if name_samples and samples not in keys and recipes[0][samples] is not None:
        keys.append(samples)
    return [
        settings_in_words({key: recipe.get(key) for key in keys}) for recipe in recipes
    ]


__all__ = ["SeedGroup", "seed_groups_of"]

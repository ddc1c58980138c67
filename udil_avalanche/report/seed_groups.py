"""Runs that differ only in their seed, taken together."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

from udil_avalanche.formatting import (
    differing,
    duration,
    in_parentheses,
    megabytes,
    settings_in_words,
)
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import CONFIGS, resolve
from udil_avalanche.report import paper
from udil_avalanche.report.run import Run
from udil_avalanche.report.statistic import Statistic

T = TypeVar("T")


@dataclass(frozen=True)
class SeedGroup:
    """Runs with the same settings on several seeds.

    :param runs: the runs, by seed; none if the method has not been run.
    :param variant: the settings that distinguish the group from others of the same
        method on the same problem; empty if there are no others.
    """

    runs: tuple[Run, ...] = ()
    variant: str = ""

    @property
    def first(self) -> Run:
        """The run with the lowest seed; the others differ from it only in the seed."""
        return self.runs[0]

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return [run.seed for run in self.runs]

    @property
    def title(self) -> str:
        """Method, benchmark and memory in words."""
        run = self.first
        task = paper.task_title(run.benchmark, run.problem, run.memory or None)
        return f"{run.method}{in_parentheses(self.variant)} on {task}"

    @property
    def anchor(self) -> str:
        """A name for links to the group that needs no quoting. Published reports are
        linked by it, so it must not change."""
        return "cell-" + re.sub(r"[^\w+-]", "-", self.first.identity)

    @property
    def accuracy(self) -> Statistic:
        """The average accuracy, of a group where it was measured."""
        accuracy = self.figure("avg_acc")
        assert accuracy is not None
        return accuracy

    @property
    def seconds(self) -> float:
        """The median duration of a run. A run that shares the machine with others takes
        several times as long and would distort a mean."""
        return median(run.seconds for run in self.runs)

    @property
    def peak_memory(self) -> float | None:
        """The median peak memory in MB of the runs that measured it."""
        found = [run.metric("peak_memory_mb") for run in self.runs]
        measured = [amount for amount in found if amount is not None]
        return median(measured) if measured else None

    @property
    def cost(self) -> str:
        """Time and memory of a run in words."""
        memory = self.peak_memory
        known = "" if memory is None else f", {megabytes(memory)}"
        return f"{duration(self.seconds)}{known}"

    @property
    def embeddings(self) -> dict[str, Any] | None:
        """The embeddings of the first seed that stored them; None if none did."""
        return next(filter(None, (run.embeddings for run in self.runs)), None)

    def figure(self, metric: str) -> Statistic | None:
        """Mean and deviation of a metric; None if it was not measured.

        :param metric: see :meth:`Run.metric`.
        """
        return Statistic.of([run.metric(metric) for run in self.runs])


def group_by(items: Iterable[T], key: Callable[[T], object]) -> list[list[T]]:
    """Put items with the same key together, in the order in which the keys appear.

    :param items: the items.
    :param key: gives the key of an item, which need not be hashable.
    """
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(json.dumps(key(item), sort_keys=True), []).append(item)
    return list(groups.values())


def seed_groups_of(runs: Sequence[Run]) -> list[SeedGroup]:
    """Group runs that differ only in their seed.

    Runs of one method with different settings are never mixed: each group is named by
    the settings in which it differs from the others. How many training samples it used
    is named as well if other methods used more or fewer.

    :param runs: runs on the same problem.
    """
    name_samples = len({run.all_settings.train_per_domain for run in runs}) > 1
    return [
        SeedGroup(tuple(sorted(group, key=lambda run: run.seed)), variant)
        for same_method in group_by(runs, lambda run: [run.memory, run.method])
        for groups in [
            sorted(
                group_by(same_method, lambda run: run.method_settings),
                key=lambda group: _is_tuned(group[0]),
            )
        ]
        for group, variant in zip(groups, _variants(groups, name_samples), strict=True)
    ]


def _variants(groups: list[list[Run]], name_samples: bool) -> list[str]:
    tuned = [_is_tuned(group[0]) for group in groups]
    settings = [group[0].method_settings for group in groups]
    others = [each for each, named in zip(settings, tuned, strict=True) if not named]
    keys = differing(others) if others else []
    samples = "train_per_domain"
    if name_samples and samples not in keys and settings[0][samples] is not None:
        keys.append(samples)
    return [
        "tuned" if named else settings_in_words({key: each.get(key) for key in keys})
        for each, named in zip(settings, tuned, strict=True)
    ]


def _is_tuned(run: Run) -> bool:
    """Whether a run has the settings of ``configs/tuned``, which are named so instead
    of by all the settings in which they differ."""
    file = CONFIGS / "tuned" / run.benchmark / f"{run.method.lower()}.yaml"
    if not file.exists():
        return False
    options = {"seed": run.seed, "memory": run.memory}
    tuned = resolve(run.method, run.benchmark, config_file=file, options=options)
    return fingerprint(tuned) == fingerprint(run.all_settings)

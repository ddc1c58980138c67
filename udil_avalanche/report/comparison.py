"""Methods, or variants of a method, compared across the streams of a sweep."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from udil_avalanche.report.compared_row import ComparedRow
from udil_avalanche.report.paired import Difference
from udil_avalanche.report.plan import Plan
from udil_avalanche.report.ranks import Ranking, ranked, ranks_of
from udil_avalanche.report.run import Run
from udil_avalanche.report.seed_groups import SeedGroup

OURS = "UDIL"
"""The method that the others are subtracted from."""


@dataclass(frozen=True)
class Comparison:
    """All rows of a sweep on all its streams.

    :param plan: the sweep.
    :param rows: the rows, in the order of the sweep.
    """

    plan: Plan
    rows: list[ComparedRow]

    @property
    def title(self) -> str:
        """The heading."""
        return f"Comparison: {self.plan.name}"

    @property
    def state(self) -> str:
        """How many runs there are, and whether their figures are to be reported."""
        done = sum(len(group.runs) for group in self.groups)
        said = f"{done} of the sweep's {len(self.plan.runs)} runs are there."
        return f"{said} {self.plan.development}".rstrip()

    @property
    def groups(self) -> list[SeedGroup]:
        """The groups of runs that there are."""
        found = [group for row in self.rows for group in row.groups.values()]
        return [group for group in found if group.runs]

    def shown(self, row: ComparedRow, stream: str) -> str:
        """The average accuracy, with the number of seeds if some are missing; empty if
        there are no runs.

        :param row: a row.
        :param stream: name of the stream.
        """
        runs, seeds = len(row.groups[stream].runs), len(self.plan.seeds)
        if not runs:
            return ""
        count = "" if runs == seeds else f" ({runs} of {seeds})"
        return f"{row.accuracy(stream) or '-'}{count}"

    def gap(self, row: ComparedRow, stream: str) -> float | None:
        """The mean accuracy minus that of the best method with a memory; None if one of
        them is missing.

        :param row: a row.
        :param stream: name of the stream.
        """
        accuracy, best = row.accuracy(stream), self._best_with_memory.get(stream)
        return None if accuracy is None or best is None else accuracy.mean - best

    def is_best(self, row: ComparedRow, stream: str) -> bool:
        """Whether it is the best method with a memory on a stream.

        :param row: a row.
        :param stream: name of the stream.
        """
        return row.has_memory and self.gap(row, stream) == 0

    def mean_rank(self, row: ComparedRow) -> float | None:
        """The mean of its ranks on all streams with figures; None if it is not measured
        on all of them, or has no rank.

        :param row: a row.
        """
        ranks = [each[row.name] for each in self._ranks.values() if row.name in each]
        complete = bool(ranks) and len(ranks) == len(self._ranks)
        return statistics.fmean(ranks) if complete else None

    def wins(self, row: ComparedRow) -> int | None:
        """On how many streams no other method with a rank is better; None if it has no
        rank.

        :param row: a row.
        """
        if not row.is_continual:
            return None
        firsts = [min(ranks.values()) for ranks in self._ranks.values()]
        own = [ranks.get(row.name) for ranks in self._ranks.values()]
        return sum(rank == first for rank, first in zip(own, firsts, strict=True))

    def behind(self, row: ComparedRow) -> tuple[float, str] | None:
        """The most points that it is behind the best method with a memory on any
        stream, and that stream; 0 and nothing if it is never behind. None if it has no
        mean rank.

        :param row: a row.
        """
        if self.mean_rank(row) is None:
            return None
        gaps = {stream: self.gap(row, stream) for stream in self._ranks}
        behind = [(-gap, stream) for stream, gap in gaps.items() if gap and gap < 0]
        return max(behind, key=lambda pair: pair[0], default=(0.0, ""))

    @property
    def differences(self) -> dict[str, dict[str, Difference | None]]:
        """Each variant minus the first one of its method, by name and stream; without
        variants, UDIL minus each other method."""
        if self.plan.has_variants:
            first = {row.method: row for row in reversed(self.rows)}
            pairs = [(row, first[row.method]) for row in self.rows]
        else:
            ours = [row for row in self.rows if row.method == OURS]
            pairs = [(each, row) for each in ours for row in self.rows]
        return {
            f"{one.name} minus {other.name}": {
                stream: one.minus(other, stream) for stream in self.plan.streams
            }
            for one, other in pairs
            if one is not other
        }

    @property
    def ranking(self) -> Ranking | None:
        """The mean ranks over the streams with a critical difference; None if there are
        too few streams on which all methods are measured."""
        return ranked(self._means([row for row in self.rows if row.is_continual]))

    @cached_property
    def _best_with_memory(self) -> dict[str, float]:
        means = self._means([row for row in self.rows if row.has_memory])
        return {stream: max(each.values()) for stream, each in means.items()}

    @cached_property
    def _ranks(self) -> dict[str, dict[str, float]]:
        """The ranks by stream and name, on the streams with figures."""
        means = self._means([row for row in self.rows if row.is_continual])
        return {stream: ranks_of(each) for stream, each in means.items()}

    def _means(self, rows: Sequence[ComparedRow]) -> dict[str, dict[str, float]]:
        """The mean accuracies by stream and name, on the streams with figures."""
        found: dict[str, dict[str, float]] = {}
        for stream in self.plan.streams:
            for row in rows:
                accuracy = row.accuracy(stream)
                if accuracy is not None:
                    found.setdefault(stream, {})[row.name] = accuracy.mean
        return found


def comparison_of(plan: Plan, runs: Sequence[Run]) -> Comparison:
    """Compare the runs of a sweep that are there.

    :param plan: the sweep.
    :param runs: finished runs, perhaps others among them.
    """
    found = {run.identity: run for run in runs}
    rows = []
    for name, planned in plan.rows.items():
        groups = {}
        for stream in plan.streams:
            here = [run.identity for run in planned if run.stream == stream]
            there = [found[identity] for identity in here if identity in found]
            there.sort(key=lambda run: run.seed)
            variant = ", ".join(filter(None, [planned[0].variant, f"stream {stream}"]))
            groups[stream] = SeedGroup(tuple(there), variant)
        rows.append(ComparedRow(name, planned[0].settings.strategy, groups))
    return Comparison(plan, rows)

"""Our figures next to the paper's, as the rows of tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from udil_avalanche.formatting import in_parentheses
from udil_avalanche.report import paper
from udil_avalanche.report.comparison import Comparison
from udil_avalanche.report.run import Run
from udil_avalanche.report.seed_groups import SeedGroup, group_by, seed_groups_of
from udil_avalanche.report.statistic import Statistic

METRICS = ("avg_acc", "forgetting")
"""The metrics that every table has."""

_MARKS = {"": "", "better": " ▲", "worse": " ▼"}


def more_is_better(metric: str) -> bool:
    """Whether a higher figure is a better one.

    :param metric: name of the metric.
    """
    return metric != "forgetting"


@dataclass
class Figure:
    """A metric of a method, ours and the paper's.

    :param metric: name of the metric.
    :param ours: over our seeds; None if it was not measured.
    :param paper: over the paper's; None if the paper does not have it.
    :param rank: 1 for the best of the table, 2 for the second best, else 0.
    """

    metric: str
    ours: Statistic | None
    paper: Statistic | None
    rank: int = 0

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` if it differs from the paper's by more than either
        deviation, else empty."""
        ours, paper = self.ours, self.paper
        if ours is None or paper is None or not ours.is_clear_of(paper):
            return ""
        is_higher = ours.mean > paper.mean
        return "better" if is_higher == more_is_better(self.metric) else "worse"

    @property
    def mark(self) -> str:
        """The verdict as a sign after a space; empty if there is none."""
        return _MARKS[self.verdict]

    @property
    def difference(self) -> str:
        """Ours minus the paper's, with a mark if it is clear; a dash if one of them is
        missing."""
        if self.ours is None or self.paper is None:
            return "-"
        return f"{self.ours.mean - self.paper.mean:+.1f}{self.mark}"


@dataclass
class Row:
    """A method in a table.

    :param method: its name.
    :param memory: what the memory column shows.
    :param group: its runs, perhaps none.
    :param figures: the figures of the table by metric, all of its metrics.
    """

    method: str
    memory: str
    group: SeedGroup
    figures: dict[str, Figure]

    @property
    def name(self) -> str:
        """The method, with the settings that distinguish it from another of the same
        name."""
        return f"{self.method}{in_parentheses(self.group.variant)}"


@dataclass
class Table:
    """All methods on one benchmark with one size of the memory.

    :param benchmark: name of the benchmark.
    :param problem: the settings by which the data differ from the benchmark's.
    :param memory: samples kept by the methods that keep any; None if none of them ran.
    :param rows: the methods in the order of the paper's tables.
    """

    benchmark: str
    problem: dict[str, Any]
    memory: int | None
    rows: list[Row] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Benchmark, data and memory in words."""
        return paper.task_title(self.benchmark, self.changes, self.memory)

    @property
    def changes(self) -> dict[str, Any]:
        """The settings by which the data of all methods differ from the benchmark's,
        the number of training samples included."""
        used = {
            group.first.method_settings["train_per_domain"] for group in self.groups
        }
        same = used.pop() if len(used) == 1 else None
        return self.problem | ({} if same is None else {"train_per_domain": same})

    @property
    def is_comparable(self) -> bool:
        """Whether the data are the paper's, or fewer of the same."""
        return self.problem in ({}, {"data": "mnist-5000"})

    @property
    def groups(self) -> list[SeedGroup]:
        """The groups of runs in the table."""
        return [row.group for row in self.rows if row.group.runs]

    @property
    def measured(self) -> list[Row]:
        """The rows with an average accuracy of ours."""
        return [row for row in self.rows if row.figures["avg_acc"].ours is not None]

    @property
    def metrics(self) -> list[str]:
        """All metrics that the paper reports for the benchmark, in its order; on data
        that the paper does not have, those that every table has."""
        of_paper = paper.metrics(self.benchmark) if self.is_comparable else []
        return of_paper or list(METRICS)

    @property
    def more_metrics(self) -> list[str]:
        """The metrics that only the paper's larger tables have."""
        return [metric for metric in self.metrics if metric not in METRICS]

    def figure(self, method: str, group: SeedGroup, metric: str) -> Figure:
        """A metric of a method, ours and the paper's.

        :param method: name of the method.
        :param group: its runs, perhaps none.
        :param metric: name of the metric.
        """
        ours, theirs = group.figure(metric), None
        if self.is_comparable:
            theirs = paper.figure(self.benchmark, self.memory, method, metric)
        return Figure(metric, ours, theirs)


def tables_of(runs: Sequence[Run]) -> list[Table]:
    """A table for each benchmark and each size of the memory.

    Methods without a memory and joint training are in every table of their benchmark.
    A method of the paper without runs has a row without figures of ours.

    :param runs: the runs.
    """
    tables = [
        _table(memory, groups)
        for same_problem in group_by(runs, lambda run: [run.benchmark, run.problem])
        for groups in [seed_groups_of(same_problem)]
        for memory in _memory_sizes(groups)
    ]
    order = {benchmark: place for place, benchmark in enumerate(paper.MEMORY_SIZES)}
    return sorted(
        tables,
        key=lambda table: (
            order.get(table.benchmark, len(order)),
            len(table.problem),
            table.memory or 0,
        ),
    )


def groups_of(
    tables: Sequence[Table], comparisons: Sequence[Comparison] = ()
) -> list[SeedGroup]:
    """The groups of runs in the tables and comparisons, each of them once.

    :param tables: the tables.
    :param comparisons: the comparisons.
    """
    groups = [group for table in tables for group in table.groups]
    groups += [group for each in comparisons for group in each.groups]
    found: dict[str, SeedGroup] = {}
    for group in groups:
        found.setdefault(group.anchor, group)
    return list(found.values())


def _memory_sizes(groups: Sequence[SeedGroup]) -> list[int | None]:
    runs = [group.first for group in groups]
    sizes = {run.memory for run in runs if paper.has_memory(run.method)}
    return [*sorted(sizes)] or [None]


def _table(memory: int | None, groups: Sequence[SeedGroup]) -> Table:
    run = groups[0].first
    table = Table(run.benchmark, run.problem, memory)
    for method in paper.METHODS:
        kept = memory if paper.has_memory(method) else 0
        if kept is None:
            continue
        found = [
            group
            for group in groups
            if group.first.method == method and group.first.memory == kept
        ]
        if not found and method in paper.PAPER_METHODS:
            found = [SeedGroup()]
        label = paper.memory_label(method, memory)
        for group in found:
            figures = {
                each: table.figure(method, group, each) for each in table.metrics
            }
            table.rows.append(Row(method, label, group, figures))
    for metric in table.metrics:
        _rank(metric, table.rows)
    return table


def _rank(metric: str, rows: Sequence[Row]) -> None:
    compared = [row.figures[metric] for row in rows if not paper.is_joint(row.method)]
    measured = [(each.ours.mean, each) for each in compared if each.ours is not None]
    measured.sort(key=lambda pair: pair[0], reverse=more_is_better(metric))
    for rank, (_, figure) in enumerate(measured[:2], start=1):
        figure.rank = rank

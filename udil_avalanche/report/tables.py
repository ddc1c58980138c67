"""Our figures beside the paper's, as rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from udil_avalanche.formatting import TITLES, settings_in_words
from udil_avalanche.report.paper import (
    MEMORY_SIZES,
    METHODS,
    PAPER_METHODS,
    memory_key,
    paper_figure,
)
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.statistic import Statistic
from udil_avalanche.settings import keeps_samples

METRICS = {"avg_acc": True, "forgetting": False}
"""The metrics of the tables, and whether more is better."""


@dataclass
class Figure:
    """A metric of a method, ours and the paper's.

    :param ours: over our seeds; None if it was not measured.
    :param paper: over the paper's; None if the paper does not have it.
    :param more_is_better: False for forgetting.
    :param rank: 1 for the best of the table, 2 for the second best, else 0.
    """

    ours: Statistic | None
    paper: Statistic | None
    more_is_better: bool
    rank: int = 0

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours.mean - self.paper.mean

    @property
    def verdict(self) -> str:
        """Whether it is ``better`` or ``worse`` than the paper's by more than either
        deviation, or neither: then it is empty."""
        if self.ours is None or self.paper is None:
            return ""
        if not self.ours.is_clear_of(self.paper):
            return ""
        more = self.ours.mean > self.paper.mean
        return "better" if more == self.more_is_better else "worse"


@dataclass
class Row:
    """A method in a table.

    :param method: its name.
    :param memory: what the paper's tables have in the column for the memory.
    :param cell: its runs; None if there are none.
    :param figures: by the metric.
    """

    method: str
    memory: str
    cell: SeedGroup | None
    figures: dict[str, Figure]

    @property
    def name(self) -> str:
        """The method, with the settings that tell it from another of the same name."""
        variant = self.cell.variant if self.cell is not None else ""
        return f"{self.method} ({variant})" if variant else self.method

    @property
    def memory_sign(self) -> str:
        """The memory as it is shown."""
        return {"": "-", "inf": "∞"}.get(self.memory, self.memory)


@dataclass
class Table:
    """All methods on one benchmark with one size of the memory.

    :param benchmark: name of the benchmark.
    :param problem: how the data differ from those of the benchmark.
    :param memory: samples kept by the methods that keep any; None if none of them ran.
    :param rows: the methods in the order of the paper's tables.
    """

    benchmark: str
    problem: dict[str, Any]
    memory: int | None
    rows: list[Row] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it is about, in a line."""
        kept = "" if self.memory is None else f", {self.memory} samples in memory"
        changed = f" ({self.other_data})" if self.other_data else ""
        return f"{TITLES.get(self.benchmark, self.benchmark)}{changed}{kept}"

    @property
    def other_data(self) -> str:
        """In which the data of all methods differ from the benchmark's; empty if in
        nothing."""
        return settings_in_words(self.problem | self.fewer_samples)

    @property
    def fewer_samples(self) -> dict[str, int]:
        """How many training samples of a domain all methods used, if not all that
        there are."""
        used = {cell.train_per_domain for cell in self.cells}
        [same, *others] = used or {None}
        return {} if same is None or others else {"train_per_domain": same}

    @property
    def bears_comparison(self) -> bool:
        """Whether the data are the paper's, or fewer of the same."""
        return self.problem in ({}, {"data": "mnist-5000"})

    @property
    def cells(self) -> list[SeedGroup]:
        """The cells that are there."""
        return [row.cell for row in self.rows if row.cell is not None]


def tables_of(cells: Sequence[SeedGroup]) -> list[Table]:
    """A table for each benchmark and size of the memory that there are runs of.

    Methods without a memory and joint training are in each table of their benchmark.
    A method of the paper without runs has a row without figures of ours.

    :param cells: what there is.
    """
    by_problem: dict[str, list[SeedGroup]] = {}
    for cell in cells:
        by_problem.setdefault(f"{cell.benchmark} {cell.problem}", []).append(cell)
    tables = [
        _table(memory, group)
        for group in by_problem.values()
        for memory in _memory_sizes(group)
    ]
    order = list(TITLES)
    return sorted(
        tables,
        key=lambda table: (
            order.index(table.benchmark) if table.benchmark in order else len(order),
            len(table.problem),
            table.memory or 0,
        ),
    )


def missing_tables(tables: Sequence[Table]) -> list[str]:
    """The paper's benchmarks and sizes of the memory that there are no runs of.

    :param tables: those that there are.
    """
    there = {(each.benchmark, each.memory) for each in tables if not each.problem}
    return [
        Table(benchmark, {}, memory).title
        for benchmark, sizes in MEMORY_SIZES.items()
        for memory in sizes
        if (benchmark, memory) not in there
    ]


def _memory_sizes(cells: Sequence[SeedGroup]) -> list[int | None]:
    sizes = {cell.memory for cell in cells if keeps_samples(cell.method)}
    return [*sorted(sizes)] or [None]


def _table(memory: int | None, cells: Sequence[SeedGroup]) -> Table:
    table = Table(cells[0].benchmark, cells[0].problem, memory)
    for method in METHODS:
        if memory is None and keeps_samples(method):
            continue
        wanted = memory if keeps_samples(method) else 0
        found: list[SeedGroup | None] = [
            cell for cell in cells if cell.method == method and cell.memory == wanted
        ]
        if not found and method in PAPER_METHODS:
            found = [None]
        table.rows += [_row(table, method, cell) for cell in found]
    for metric in METRICS:
        _rank([row.figures[metric] for row in table.rows if row.method != "Joint"])
    return table


def _row(table: Table, method: str, cell: SeedGroup | None) -> Row:
    memory = table.memory or 0
    figures = {
        metric: Figure(
            None if cell is None else cell.figure(metric),
            paper_figure(table.benchmark, memory, method, metric)
            if table.bears_comparison
            else None,
            more_is_better,
        )
        for metric, more_is_better in METRICS.items()
    }
    return Row(method, memory_key(method, memory), cell, figures)


def _rank(figures: Sequence[Figure]) -> None:
    measured = [(each.ours.mean, each) for each in figures if each.ours is not None]
    if not measured:
        return
    more_is_better = measured[0][1].more_is_better
    measured.sort(key=lambda pair: pair[0], reverse=more_is_better)
    for rank, (_, figure) in enumerate(measured[:2], start=1):
        figure.rank = rank


__all__ = ["METRICS", "Figure", "Row", "Table", "missing_tables", "tables_of"]

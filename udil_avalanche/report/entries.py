"""What a report says of the runs behind its figures."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from udil_avalanche.formatting import TITLES, settings_in_words
from udil_avalanche.report.advice import cost
from udil_avalanche.report.origin import commit_of
from udil_avalanche.report.rerun_commands import command_again, command_for_missing
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.tables import Table


@dataclass(frozen=True)
class RunEntry:
    """A run.

    :param seed: its seed.
    :param folder: where it lies.
    :param address: where it lies, as seen from the report.
    :param avg_acc: its average accuracy.
    :param forgetting: its forgetting; None if there is none.
    :param seconds: how long it took.
    :param commit: the version of the code.
    :param command: the command line that makes it again.
    """

    seed: int
    folder: str
    address: str
    avg_acc: float
    forgetting: float | None
    seconds: float
    commit: str
    command: str


@dataclass(frozen=True)
class CellEntry:
    """The runs of a cell.

    :param anchor: a name for links to it.
    :param name: method, benchmark and memory in words.
    :param cost: time and memory in words.
    :param runs: the runs.
    """

    anchor: str
    name: str
    cost: str
    runs: tuple[RunEntry, ...]


@dataclass(frozen=True)
class MissingEntry:
    """A row without runs.

    :param name: method and table in words.
    :param command: the command line that makes its first run.
    """

    name: str
    command: str


def cell_entries(tables: Sequence[Table], folder: Path) -> list[CellEntry]:
    """All cells of the tables, each of them once.

    :param tables: the tables.
    :param folder: where the report will lie.
    """
    cells = {cell.anchor: cell for table in tables for cell in table.cells}
    return [_entry(cell, folder) for cell in cells.values()]


def missing_entries(tables: Sequence[Table]) -> list[MissingEntry]:
    """The rows without runs that a command could fill.

    :param tables: the tables.
    """
    return [
        MissingEntry(f"{row.method} on {table.title}", command)
        for table in tables
        for row in table.rows
        if row.cell is None
        if (command := command_for_missing(table, row)) is not None
    ]


def _entry(cell: SeedGroup, folder: Path) -> CellEntry:
    changed = settings_in_words(cell.problem)
    kept = f", {cell.memory} samples in memory" if cell.memory else ""
    variant = f" ({cell.variant})" if cell.variant else ""
    title = TITLES.get(cell.benchmark, cell.benchmark)
    name = f"{cell.method}{variant} on {title}" + (f" ({changed})" if changed else "")
    runs = [
        RunEntry(
            seed=run.seed,
            folder=str(run.folder),
            address=quote(Path(os.path.relpath(run.folder, folder)).as_posix() + "/"),
            avg_acc=run.result["avg_acc"],
            forgetting=run.result["forgetting"],
            seconds=run.result["seconds"],
            commit=commit_of(run),
            command=command_again(run),
        )
        for run in cell.runs
    ]
    return CellEntry(cell.anchor, name + kept, cost(cell), tuple(runs))


__all__ = ["CellEntry", "MissingEntry", "RunEntry", "cell_entries", "missing_entries"]

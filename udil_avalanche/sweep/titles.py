"""Where the runs of a sweep belong, and short names for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from udil_avalanche.formatting import differing, in_parentheses, settings_in_words
from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.runs.run_folder import RunFolder

ALWAYS_NAMED = ("memory", "seed")


@dataclass(frozen=True)
class Cell:
    """What the runs of a sweep that differ in their seed have in common.

    :param strategy: how they learn.
    :param stream: what they learn: the name of a stream, or of a benchmark.
    :param variant: the name of their variant; empty if there are none.
    """

    strategy: str
    stream: str
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.strategy}{in_parentheses(self.variant)} on {self.stream}"


class Titles:
    """Names that distinguish the runs of a sweep: method, variant, stream, memory and
    seed. If runs that differ in more than their seed have the same variant on the same
    stream, the names include the settings that differ.

    :param runs: all runs of the sweep.
    :param cells: where they belong, by their folders; the others belong to their
        benchmarks.
    """

    def __init__(
        self, runs: Sequence[RunSettings], cells: Mapping[Path, Cell] | None = None
    ) -> None:
        self._cells = cells or {}
        groups: dict[Cell, list[dict[str, Any]]] = {}
        for run in runs:
            groups.setdefault(self._cell(run), []).append(as_dict(run))
        self._named = {
            cell: [key for key in differing(group) if key not in ALWAYS_NAMED]
            for cell, group in groups.items()
        }

    def __call__(self, run: RunSettings) -> str:
        """The title of a run.

        :param run: one of the runs.
        """
        cell = self._cell(run)
        memory = f", memory {run.memory}" if run.memory else ""
        tried = settings_in_words({key: getattr(run, key) for key in self._named[cell]})
        title = f"{cell}{memory}, seed {run.seed}"
        return f"{title}, {tried}" if tried else title

    def _cell(self, run: RunSettings) -> Cell:
        default = Cell(run.strategy, run.benchmark)
        return self._cells.get(RunFolder.of(run).path, default)

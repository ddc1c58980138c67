"""A sweep on the terminal."""

import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from udil_avalanche.formatting import duration, percent
from udil_avalanche.recipes import BENCHMARKS
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.board import Board, progress_of
from udil_avalanche.sweep.engine import Event, Failed, Finished
from udil_avalanche.sweep.titles import Titles


class LiveTable:
    """On a terminal, shows which runs are in progress, how many are left and how long
    they will take. With or without one, prints a line for each run that ends.

    :param board: how far the sweep is.
    :param console: where to show it; the standard output by default.
    :param title: names the runs; by default by their benchmarks.
    """

    def __init__(
        self,
        board: Board,
        console: Console | None = None,
        title: Titles | None = None,
    ) -> None:
        self._board = board
        self._title = title or Titles(board.runs)
        self._console = console or Console(
            force_terminal=sys.stdout.isatty(), soft_wrap=not sys.stdout.isatty()
        )

    def shown(self) -> AbstractContextManager[object]:
        """Keeps the table on the terminal within a ``with`` block."""
        if not self._console.is_terminal:
            return nullcontext()
        return Live(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=2,
            transient=True,
        )

    def tell(self, event: Event) -> None:
        """Print what has happened if it is the end of a run.

        :param event: what has happened.
        """
        match event:
            case Finished():
                result = RunFolder.of(event.run).result()
                outcome = f"{percent(result['avg_acc'])} in "
                outcome += duration(result["seconds"])
                if result["data"] not in BENCHMARKS[event.run.benchmark].data:
                    outcome += f", on the data {result['data']}"
            case Failed():
                outcome = f"FAILED: {event.reason}"
            case _:
                return
        board = self._board
        ended = board.done_before + board.done + len(board.failed)
        line = f"{ended}/{len(board.runs)} {self._title(event.run)}: {outcome}"
        self._console.print(line, markup=False, highlight=False)

    def render(self) -> Group:
        """The table as it is now."""
        board = self._board
        table = Table(box=None, pad_edge=False)
        for head in ("running", "domain", "accuracy", "for"):
            table.add_column(head, justify="left" if head == "running" else "right")
        for run, begun in list(board.running.values()):
            domain, accuracy = progress_of(run)
            table.add_row(
                self._title(run),
                f"{domain}/{run.domains or '?'}",
                percent(accuracy),
                duration(board.clock() - begun),
            )
        return Group(table, Text(summary(board)))


def summary(board: Board) -> str:
    """How many runs are done, running, left and failed, and when all will be done.

    :param board: how far the sweep is.
    """
    before = f" ({board.done_before} before)" if board.done_before else ""
    parts = [
        f"{board.done_before + board.done} done{before}",
        f"{len(board.running)} running",
        f"{len(board.left)} left",
        f"{len(board.failed)} failed",
    ]
    seconds = board.seconds_left()
    if seconds is not None and (board.running or board.left):
        until = datetime.now() + timedelta(seconds=seconds)
        parts.append(f"until about {until:%a %H:%M} ({duration(seconds)})")
    return ", ".join(parts)

"""A sweep on the terminal."""

import sys
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from udil_avalanche.formatting import duration
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.settings.roles import OTHER_DATA
from udil_avalanche.sweep.board import Board, progress_of
from udil_avalanche.sweep.events import Event, Failed, Finished
from udil_avalanche.sweep.titles import Titles


class LiveTable:
    """Shows what runs, what is left and until when; on anything but a terminal, a line
    for each run that ends.

    :param board: how far the sweep has come.
    :param console: where to show it; the standard output by default.
    """

    def __init__(self, board: Board, console: Console | None = None) -> None:
        self._board = board
        self._title = Titles(board.runs)
        self._console = console or Console(
            force_terminal=sys.stdout.isatty(), soft_wrap=not sys.stdout.isatty()
        )
        self._live = Live(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=2,
            transient=True,
        )

    def __enter__(self) -> "LiveTable":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def tell(self, event: Event) -> None:
        """Say what has happened, if it is the end of a run.

        :param event: what has happened.
        """
        match event:
            case Finished():
                result = RunFolder.of(event.run).result()
                accuracy = _percent(result["avg_acc"])
                said = f"{accuracy} in {duration(result['seconds'])}"
                if result["data"].startswith(OTHER_DATA):
                    said += f", by the data {result['data']}"
            case Failed():
                said = f"FAILED: {event.reason}"
            case _:
                return
        ended = self._board.done_before + self._board.done + len(self._board.failed)
        line = f"{ended}/{len(self._board.runs)} {self._title(event.run)}: {said}"
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
                _percent(accuracy),
                duration(board.clock() - begun),
            )
        return Group(table, Text(summary(board)))


def _percent(accuracy: float | None) -> str:
    return "-" if accuracy is None else f"{accuracy:.1f} %"


def summary(board: Board) -> str:
    """Counts, and until when it will take.

    :param board: how far the sweep has come.
    """
    before = f" ({board.done_before} before)" if board.done_before else ""
    parts = [
        f"{board.done_before + board.done} done{before}",
        f"{len(board.running)} running",
        f"{len(board.left)} left",
        f"{len(board.failed)} failed",
    ]
    until, seconds = board.until(), board.seconds_left()
    if until is not None and seconds is not None and (board.running or board.left):
        parts.append(f"until about {until:%a %H:%M} ({duration(seconds)})")
    return ", ".join(parts)


__all__ = ["LiveTable", "summary"]

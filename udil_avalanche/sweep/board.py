"""How far a sweep is."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from udil_avalanche.errors import RunError
from udil_avalanche.recipes import RunSettings
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.engine import Event, Failed, Finished, Started


@dataclass
class Board:
    """Which runs of a sweep are done, running, left or failed.

    :param runs: all of them.
    :param workers: how many run at once; None if that is not known.
    :param clock: returns seconds.
    """

    runs: Sequence[RunSettings]
    workers: int | None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.done_before = 0
        self.done = 0
        self.failed: dict[Path, Failed] = {}
        self.running: dict[Path, tuple[RunSettings, float]] = {}
        self._left: dict[Path, RunSettings] = {}
        self._seconds: list[tuple[RunSettings, float]] = []
        for run in self.runs:
            folder = RunFolder.of(run)
            try:
                if not folder.holds(run):
                    self._left[folder.path] = run
                    continue
                self._seconds.append((run, folder.result()["seconds"]))
                self.done_before += 1
            except RunError as error:
                reason = " ".join(str(error).split())
                self.failed[folder.path] = Failed(run, reason)

    @property
    def left(self) -> list[RunSettings]:
        """The runs that have not begun."""
        return list(self._left.values())

    def note(self, event: Event) -> None:
        """Note what an engine reports.

        :param event: what has happened.
        """
        path = RunFolder.of(event.run).path
        begun = self.running.pop(path, None)
        self._left.pop(path, None)
        match event:
            case Started():
                self.running[path] = (event.run, self.clock())
            case Finished():
                self.done += 1
                if begun is not None:
                    self._seconds.append((event.run, self.clock() - begun[1]))
            case Failed():
                self.failed[path] = event

    def seconds_left(self) -> float | None:
        """How long the sweep will still take; None as long as no run is done.

        A run is expected to take as long as the runs of its method on its benchmark
        did; if there are none, as those on its benchmark; if there are none, as all.
        """
        if not self._seconds:
            return None
        # Copies, as the terminal's thread calls this too.
        work = sum(self._expected(run) for run in self.left)
        for run, begun in list(self.running.values()):
            work += max(self._expected(run) - (self.clock() - begun), 0)
        workers = self.workers or len(self.running)
        busy = min(workers, len(self._left) + len(self.running))
        return work / max(busy, 1)

    def _expected(self, wanted: RunSettings) -> float:
        def known(*same: str) -> list[float]:
            return [
                seconds
                for run, seconds in self._seconds
                if all(getattr(run, key) == getattr(wanted, key) for key in same)
            ]

        method_here = known("benchmark", "strategy")
        return statistics.fmean(method_here or known("benchmark") or known())


def progress_of(run: RunSettings) -> tuple[int, float | None]:
    """How many domains a run has learned, and its average accuracy over them.

    :param run: its settings.
    """
    try:
        text = RunFolder.of(run).metrics.read_text()
        # Without its end, the last line is still being written.
        [*_, last] = text[: text.rfind("\n") + 1].splitlines()
    except (OSError, ValueError):
        return 0, None  # There is no file yet, or no line in it.
    line = json.loads(last)
    return line["domain"], line["avg_acc"]

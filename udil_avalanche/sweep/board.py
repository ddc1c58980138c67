"""How far a sweep has come."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from udil_avalanche.errors import RunError
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.settings import RunSettings
from udil_avalanche.sweep.events import Event, Failed, Finished, Started


@dataclass
class Board:
    """Which runs of a sweep are done, run, are left or have failed.

    :param runs: all of them.
    :param workers: how many run at once; None for as many as do.
    :param clock: tells seconds.
    """

    runs: Sequence[RunSettings]
    workers: int | None
    clock: Callable[[], float] = time.monotonic
    done_before: int = field(init=False, default=0)
    done: int = field(init=False, default=0)
    failed: dict[Path, Failed] = field(init=False, default_factory=dict)
    running: dict[Path, tuple[RunSettings, float]] = field(
        init=False, default_factory=dict
    )
    _left: dict[Path, RunSettings] = field(init=False, default_factory=dict)
    _seconds: list[tuple[RunSettings, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        for run in self.runs:
            folder = RunFolder.of(run)
            if not folder.is_done:
                self._left[folder.path] = run
                continue
            try:
                self._seconds.append((run, folder.result()["seconds"]))
            except RunError as error:
                reason = " ".join(str(error).split())
                self.failed[folder.path] = Failed(run, reason)
            else:
                self.done_before += 1

    @property
    def left(self) -> list[RunSettings]:
        """The runs that neither run nor are done nor have failed."""
        return list(self._left.values())

    def note(self, event: Event) -> None:
        """Take in what an engine says.

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
        """How long it will still take; None as long as no run is done.

        A run is taken to last as long as those of its method on its benchmark did, or
        else as those on its benchmark, or else as any.
        """
        if not self._seconds:
            return None
        # Copies, as the terminal asks from a thread of its own.
        work = sum(self._expected(run) for run in list(self._left.values()))
        for run, begun in list(self.running.values()):
            work += max(self._expected(run) - (self.clock() - begun), 0)
        workers = self.workers or len(self.running)
        busy = min(workers, len(self._left) + len(self.running))
        return work / max(busy, 1)

    def until(self) -> datetime | None:
        """When it will be over."""
        seconds = self.seconds_left()
        return None if seconds is None else datetime.now() + timedelta(seconds=seconds)

    def _expected(self, wanted: RunSettings) -> float:
        same_benchmark = [
            (run, seconds)
            for run, seconds in self._seconds
            if run.benchmark == wanted.benchmark
        ]
        same_method = [
            (run, seconds)
            for run, seconds in same_benchmark
            if run.strategy == wanted.strategy
        ]
        known = same_method or same_benchmark or self._seconds
        return sum(seconds for _, seconds in known) / len(known)


def progress_of(run: RunSettings) -> tuple[int, float | None]:
    """How many domains a run has learned, and its average accuracy over them.

    :param run: its settings.
    """
    try:
        text = (RunFolder.of(run).path / "metrics.jsonl").read_text()
    except OSError:
        return 0, None
    lines = text.splitlines()
    if not lines:
        return 0, None
    last = json.loads(lines[-1])
    return last["domain"], last["avg_acc"]


__all__ = ["Board", "progress_of"]

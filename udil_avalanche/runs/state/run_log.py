"""What a run has come to, besides what its strategy holds."""

import time
from typing import Any


class RunLog:
    """The experiences that are done, what was measured after each, and the time, which
    adds up over all parts of an interrupted run.
    """

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        """What was measured after each experience, in their order."""
        self.seconds = 0.0
        """Time of training, evaluation and saving so far."""
        self.experience_seconds = 0.0
        """The part of it that belongs to the present experience."""
        self.seconds_saving = 0.0
        """The part of it that went into saving."""
        self._ticked = time.perf_counter()

    @property
    def experiences_done(self) -> int:
        """Number of experiences that are done: domains, but for joint training."""
        return len(self.lines)

    def tick(self) -> None:
        """Count the time since the last tick."""
        now = time.perf_counter()
        self.seconds += now - self._ticked
        self.experience_seconds += now - self._ticked
        self._ticked = now

    def begin(self) -> None:
        """Leave what came before the first experience out of its time."""
        self.tick()
        self.experience_seconds = 0.0

    def end_experience(self, line: dict[str, Any]) -> None:
        """Count a experience.

        :param line: what was measured.
        """
        self.lines.append(line)
        self.experience_seconds = 0.0

    def state_dict(self) -> dict[str, Any]:
        """All of it, in plain values."""
        return {
            "lines": self.lines,
            "seconds": self.seconds,
            "experience_seconds": self.experience_seconds,
            "seconds_saving": self.seconds_saving,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary of the earlier part.
        """
        self.lines = list(state["lines"])
        self.seconds = float(state["seconds"])
        self.experience_seconds = float(state["experience_seconds"])
        self.seconds_saving = float(state["seconds_saving"])


__all__ = ["RunLog"]

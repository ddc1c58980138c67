"""What a run has measured so far, and how long it took."""

import time
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass
class RunLog:
    """The experiences that are done, what was measured after each, and the time, which
    adds up over all parts of an interrupted run.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    """What was measured after each experience, in their order."""
    seconds: float = 0.0
    """Time of training, evaluation and saving so far."""
    experience_seconds: float = 0.0
    """The part of it that belongs to the current experience."""
    seconds_saving: float = 0.0
    """The part of it that went into saving."""

    def __post_init__(self) -> None:
        self._ticked = time.perf_counter()

    @property
    def experiences_done(self) -> int:
        """Number of experiences that are done: of domains, except in joint training."""
        return len(self.lines)

    def tick(self) -> None:
        """Count the time since the last tick."""
        now = time.perf_counter()
        self.seconds += now - self._ticked
        self.experience_seconds += now - self._ticked
        self._ticked = now

    def begin(self) -> None:
        """Do not count the time before the first experience as part of it."""
        self.tick()
        self.experience_seconds = 0.0

    def end_experience(self, line: dict[str, Any]) -> None:
        """Count an experience.

        :param line: what was measured.
        """
        self.lines.append(line)
        self.experience_seconds = 0.0

    def state_dict(self) -> dict[str, Any]:
        """The log in plain values."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary of the earlier part.
        """
        if "lesson_seconds" in state:  # Its name in version 0.1.
            state = {**state, "experience_seconds": state["lesson_seconds"]}
        for each in fields(self):
            setattr(self, each.name, state[each.name])

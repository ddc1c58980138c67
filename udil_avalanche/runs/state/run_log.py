"""What a run has measured so far, and how long it took."""

import errno
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from udil_avalanche.files import append_text, write_text
from udil_avalanche.runs.run_folder import json_line

TIMES = ("seconds", "experience_seconds", "seconds_saving")


class RunLog:
    """The experiences that are done, what was measured after each, and the time, which
    adds up over all parts of an interrupted run.

    With a file, what was measured is appended there and kept nowhere else, so that a
    long stream costs the same for each domain. The state then has only the number of
    lines and their SHA-256. Without one, it is a part of the state.

    :param file: where to keep a line of JSON for each experience.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.experiences_done = 0
        """Number of experiences that are done: of domains, except in joint training."""
        self.seconds = 0.0
        """Time of training, evaluation and saving so far."""
        self.experience_seconds = 0.0
        """The part of it that belongs to the current experience."""
        self.seconds_saving = 0.0
        """The part of it that went into saving."""
        self._lines: list[dict[str, Any]] = []
        self._digest = hashlib.sha256()
        self._ticked = time.perf_counter()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What was measured after each experience, in their order."""
        if self.file is None:
            return self._lines
        return [json.loads(line) for line in self._written()]

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
        if self.file is None:
            self._lines.append(line)
        else:
            written = json_line(line)
            append_text(self.file, written)
            self._digest.update(written.encode())
        self.experiences_done += 1
        self.experience_seconds = 0.0

    def state_dict(self) -> dict[str, Any]:
        """The log in plain values."""
        times = {name: getattr(self, name) for name in TIMES}
        if self.file is None:
            return {"lines": self._lines, **times}
        return {
            "n_lines": self.experiences_done,
            "lines_sha256": self._digest.hexdigest(),
            **times,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned. What was measured after that
        is removed from the file.

        :param state: the dictionary of the earlier part.
        :raises ValueError: if the file no longer has the lines that belong to it.
        """
        if "lesson_seconds" in state:  # Its name in version 0.1.
            state = {**state, "experience_seconds": state["lesson_seconds"]}
        for name in TIMES:
            setattr(self, name, state[name])
        if "lines" not in state:
            self._resume_file(state["n_lines"], state["lines_sha256"])
            return
        # A state without a file, or of a version that kept all lines in the state.
        self.experiences_done = len(state["lines"])
        if self.file is None:
            self._lines = list(state["lines"])
        else:
            text = "".join(map(json_line, state["lines"]))
            write_text(self.file, text)
            self._digest = hashlib.sha256(text.encode())

    def _resume_file(self, n_lines: int, sha256: str) -> None:
        if self.file is None:
            raise ValueError("what was measured is in a file that is not given")
        self.experiences_done = n_lines
        try:
            text = "".join(self._written())
        except OSError as error:
            raise ValueError(f"{self.file}: {error.strerror}") from error
        digest = hashlib.sha256(text.encode())
        if digest.hexdigest() != sha256:
            raise ValueError(
                f"{self.file} was altered; it needs its first {n_lines} "
                "lines as they were"
            )
        write_text(self.file, text)
        self._digest = digest

    def _written(self) -> Iterator[str]:
        """The lines that count: a process that was killed may have left others."""
        if self.file is None or self.experiences_done == 0:
            return
        if self.file.is_fifo():
            raise OSError(errno.EINVAL, "is not a regular file", str(self.file))
        with self.file.open(encoding="utf-8", newline="") as file:
            for _, line in zip(range(self.experiences_done), file, strict=False):
                yield line

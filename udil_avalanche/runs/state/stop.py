"""Stopping on request, when the state can be saved."""

import signal
import threading
from types import FrameType
from typing import Any

from udil_avalanche.errors import RunStopped

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether Ctrl-C was pressed, or the process was asked to end, within a ``with``
    block. The second request raises ``KeyboardInterrupt`` at once.

    Does nothing outside the main thread, where Python handles no signals.
    """

    def __init__(self) -> None:
        self.signal_number: int | None = None
        """The signal that was received, if any."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self, message: str) -> None:
        """Stop if a signal was received.

        :param message: what was saved, and how to resume.
        :raises RunStopped: with the message and the signal.
        """
        if self.signal_number is not None:
            raise RunStopped(message, self.signal_number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number is not None:
            raise KeyboardInterrupt
        self.signal_number = number

"""Stopping when asked to, at the next moment at which nothing is lost."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether Ctrl-C was pressed, or the process was asked to end, within a ``with``
    block. The second time nothing is waited for any more: it raises
    ``KeyboardInterrupt`` at once.

    Outside the main thread, where Python has no signals, nobody can ask.
    """

    def __init__(self) -> None:
        self.signal_number: int | None = None
        """The signal that has asked, if any."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number is not None:
            raise KeyboardInterrupt
        self.signal_number = number


__all__ = ["StopRequest"]

"""Errors that several packages raise."""


class SettingsError(ValueError):
    """The settings cannot be run; the message says what to write instead."""


class BadData(ValueError):
    """The data cannot be used; the message says what is wrong and where."""


class RunError(RuntimeError):
    """A run cannot continue; the message says why, and what to do."""


class RunLocked(RunError):
    """Another process is using the run's folder."""


class ModelError(RunError):
    """A model cannot be used or updated; the message says why, and what to do."""


class RunStopped(KeyboardInterrupt):
    """A run was asked to stop and has saved its state.

    :param message: what was saved, and how to resume.
    :param signal_number: the signal that asked for it.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number

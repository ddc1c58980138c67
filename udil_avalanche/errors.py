"""Errors that several packages raise."""


class SettingsError(ValueError):
    """The settings cannot be run; the message says what to write instead.

    :func:`~udil_avalanche.resolve` raises it::

        try:
            settings = resolve("UDIL", "hd_balls", overrides=["epochs=0"])
        except SettingsError as error:
            print(error)
    """


class BadData(ValueError):
    """The data cannot be used; the message says what is wrong and where.

    :func:`~udil_avalanche.folders` and :func:`~udil_avalanche.arrays` raise it; see
    :doc:`/own_data` for what is refused.
    """


class RunError(RuntimeError):
    """A run cannot continue; the message says why, and what to do.

    :func:`~udil_avalanche.run` raises it.
    """


class RunLocked(RunError):
    """Another process is using the run's folder."""


class ModelError(RunError):
    """A model cannot be used or updated; the message says why, and what to do.

    :class:`~udil_avalanche.DomainLearner` raises it.
    """


class RunStopped(KeyboardInterrupt):
    """A run was asked to stop and has saved its state.

    :func:`~udil_avalanche.run` raises it on Ctrl-C or SIGTERM; the same call resumes.

    :param message: what was saved, and how to resume.
    :param signal_number: the signal that asked for it.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number

"""What a task of a Ray cluster does: one run."""

import os
import time
from typing import Any

from udil_avalanche.errors import RunLocked, RunStopped
from udil_avalanche.recipes.resolve import from_dict

SECONDS_FOR_A_LOCK = 120
"""On network file systems, the lock of a worker that was lost may outlive it."""

SECONDS_BETWEEN_TRIES = 1


class WorkerStopped(RuntimeError):
    """A node has asked its worker to end. The run's state is saved, and another worker
    can resume it."""


class Begun:
    """An actor that collects which runs have begun."""

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def add(self, number: int) -> None:
        """Note that a run has begun.

        :param number: its number.
        """
        self._numbers.append(number)

    def take(self) -> list[int]:
        """The numbers of the runs that have begun since the last call."""
        taken, self._numbers = self._numbers, []
        return taken


def work(written: dict[str, Any], folder: str, number: int, begun: Any) -> None:
    """Do a run.

    :param written: the settings by name.
    :param folder: where the sweep was started.
    :param number: the number of the run.
    :param begun: the actor :class:`Begun`.
    :raises WorkerStopped: if the worker was asked to end.
    """
    os.chdir(folder)
    # Do not wait for the answer: while a task waits, Ray gives its CPUs to another one.
    begun.add.remote(number)
    from udil_avalanche.runs.experiment import run

    until = time.monotonic() + SECONDS_FOR_A_LOCK
    while True:
        try:
            run(from_dict(written))
            return
        except RunStopped as stopped:
            raise WorkerStopped(str(stopped)) from None
        except RunLocked:
            if time.monotonic() > until:
                raise
            time.sleep(SECONDS_BETWEEN_TRIES)

"""What both engines share: the events that they report, and the cores of a run."""

import os
from dataclasses import dataclass

from udil_avalanche.recipes import RunSettings

STOPPED = (
    "stopped; the runs were asked to save their states, and the same command resumes "
    "from there"
)


@dataclass(frozen=True)
class Event:
    """Something has happened to a run.

    :param run: its settings.
    """

    run: RunSettings


class Started(Event):
    """A run has begun, perhaps not for the first time."""


class Finished(Event):
    """A run is done."""


@dataclass(frozen=True)
class Failed(Event):
    """A run has failed.

    :param run: its settings.
    :param reason: why, in a line.
    """

    reason: str


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_of(run: RunSettings) -> int:
    """The cores that a run keeps busy: one for each of its threads, and one for each
    process that loads its images.

    :param run: its settings; the threads must be set.
    """
    assert run.threads is not None
    return run.threads + int(getattr(run, "workers", 0))

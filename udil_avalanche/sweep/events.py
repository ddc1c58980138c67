"""What an engine says of its runs."""

from dataclasses import dataclass

from udil_avalanche.settings import RunSettings


@dataclass(frozen=True)
class Started:
    """A run has begun, perhaps not for the first time.

    :param run: its settings.
    """

    run: RunSettings


@dataclass(frozen=True)
class Finished:
    """A run is done.

    :param run: its settings.
    """

    run: RunSettings


@dataclass(frozen=True)
class Failed:
    """A run has come to nothing.

    :param run: its settings.
    :param reason: why, in a line.
    """

    run: RunSettings
    reason: str


Event = Started | Finished | Failed

__all__ = ["Event", "Failed", "Finished", "Started"]

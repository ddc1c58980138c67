"""The runs of a sweep in a few words."""

from collections.abc import Sequence
from typing import Any

from udil_avalanche.formatting import differing, settings_in_words
from udil_avalanche.settings import RunSettings, as_dict

SAID_ANYWAY = ("memory", "seed")


class Titles:
    """Names that tell the runs of a sweep apart: where a method has several settings on
    a benchmark, those in which they differ are named.

    :param runs: all runs of the sweep.
    """

    def __init__(self, runs: Sequence[RunSettings]) -> None:
        by_place: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in runs:
            by_place.setdefault(_place(run), []).append(as_dict(run))
        self._named = {
            place: [key for key in differing(group) if key not in SAID_ANYWAY]
            for place, group in by_place.items()
        }

    def __call__(self, run: RunSettings) -> str:
        """The title of a run.

        :param run: one of the runs.
        """
        kept = f", memory {run.memory}" if run.memory else ""
        named = {key: getattr(run, key) for key in self._named[_place(run)]}
        tried = f", {settings_in_words(named)}" if named else ""
        return f"{run.strategy} on {run.benchmark}{kept}, seed {run.seed}{tried}"


def _place(run: RunSettings) -> tuple[str, str]:
    return run.strategy, run.benchmark


__all__ = ["Titles"]

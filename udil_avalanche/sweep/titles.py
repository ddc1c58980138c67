"""Short names for the runs of a sweep."""

from collections.abc import Sequence
from typing import Any

from udil_avalanche.formatting import differing, settings_in_words
from udil_avalanche.recipes import RunSettings, as_dict

ALWAYS_NAMED = ("memory", "seed")


class Titles:
    """Names that distinguish the runs of a sweep. If a method is run on a benchmark
    with several settings, the names include those that differ.

    :param runs: all runs of the sweep.
    """

    def __init__(self, runs: Sequence[RunSettings]) -> None:
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in runs:
            groups.setdefault((run.strategy, run.benchmark), []).append(as_dict(run))
        self._named = {
            pair: [key for key in differing(group) if key not in ALWAYS_NAMED]
            for pair, group in groups.items()
        }

    def __call__(self, run: RunSettings) -> str:
        """The title of a run.

        :param run: one of the runs.
        """
        keys = self._named[run.strategy, run.benchmark]
        memory = f", memory {run.memory}" if run.memory else ""
        tried = settings_in_words({key: getattr(run, key) for key in keys})
        title = f"{run.strategy} on {run.benchmark}{memory}, seed {run.seed}"
        return f"{title}, {tried}" if tried else title

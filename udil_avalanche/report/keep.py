"""The small files of runs, kept where they can be committed."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from udil_avalanche.report.collect import Run
from udil_avalanche.whole_file import whole_file

KEPT = ("settings.yaml", "metrics.jsonl", "embeddings.json", "result.json", "done")
"""What a report reads; the mark comes last, as in a run."""


def keep(runs: Iterable[Run], folder: Path) -> None:
    """Copy what a report needs of some runs.

    :param runs: the runs.
    :param folder: they go to ``<folder>/<benchmark>/<name of the run>`` there.
    """
    for run in runs:
        kept = folder / run.identity
        kept.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            if (run.folder / name).exists():
                with whole_file(kept / name) as unfinished:
                    shutil.copyfile(run.folder / name, unfinished)


__all__ = ["KEPT", "keep"]

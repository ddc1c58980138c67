"""The small files of runs, kept where they can be committed."""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from udil_avalanche.errors import SettingsError
from udil_avalanche.files import atomic_write
from udil_avalanche.report.collect import READ, Run
from udil_avalanche.runs.run_folder import RunFolder

PLACES = ("output", "data")
"""Settings that may name folders of the machine on which the run took place."""


def keep(runs: Collection[Run], folder: Path) -> None:
    """Copy what a report needs of some runs. Of a folder outside the one in which a run
    was started, only the name is kept: elsewhere its path says nothing.

    :param runs: the runs.
    :param folder: they go to ``<folder>/<benchmark>/<name of the run>`` there.
    :raises SettingsError: if there are other runs in the folder already: a report made
        from it would not be about these.
    """
    _refuse_others(folder, {folder / run.identity for run in runs})
    for run in runs:
        kept = RunFolder(folder / run.identity)
        if kept.path.resolve() == run.folder.resolve():
            continue
        kept.path.mkdir(parents=True, exist_ok=True)
        for name in READ:
            if (run.folder / name).exists():
                with atomic_write(kept.path / name) as unfinished:
                    shutil.copyfile(run.folder / name, unfinished)
        settings = _without_paths(run.result["settings"])
        with atomic_write(kept.path / "settings.yaml") as unfinished:
            OmegaConf.save(settings, unfinished)
        kept.finish({**run.result, "settings": settings})


def _refuse_others(folder: Path, kept: Collection[Path]) -> None:
    there = [settings.parent for settings in sorted(folder.rglob("settings.yaml"))]
    others = [path for path in there if path not in kept]
    if others:
        raise SettingsError(
            f"{folder} holds {len(others)} runs that are not among those to keep, such "
            f"as {others[0]}: remove them, or choose another folder"
        )


def _without_paths(settings: dict[str, Any]) -> dict[str, Any]:
    names = {
        key: Path(settings[key]).name
        for key in PLACES
        if Path(settings[key]).is_absolute()
    }
    return {**settings, **names}


__all__ = ["keep"]

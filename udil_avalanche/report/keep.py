"""Copies of the small files of runs, to be committed."""

import shutil
from collections.abc import Collection
from pathlib import Path

import yaml

from udil_avalanche.errors import SettingsError
from udil_avalanche.files import atomic_write, write_text
from udil_avalanche.report.run import FILES, Run
from udil_avalanche.runs.run_folder import RunFolder


def keep(runs: Collection[Run], folder: Path) -> None:
    """Copy the files of some runs that a report needs.

    Absolute paths among their settings are shortened to the last name: the rest means
    nothing on other machines.

    :param runs: the runs.
    :param folder: the runs are copied to ``<folder>/<benchmark>/<name of the run>``.
    :raises SettingsError: if the folder already holds other runs, which a report made
        from it would include.
    """
    _refuse_others(folder, {folder / run.identity for run in runs})
    for run in runs:
        kept = RunFolder(folder / run.identity)
        if kept.path.resolve() == run.folder.resolve():
            continue
        kept.path.mkdir(parents=True, exist_ok=True)
        for file in filter(Path.exists, (run.folder / name for name in FILES)):
            with atomic_write(kept.path / file.name) as unfinished:
                shutil.copyfile(file, unfinished)
        settings = {
            key: Path(value).name if Path(str(value)).is_absolute() else value
            for key, value in run.written_settings.items()
        }
        text = yaml.safe_dump(settings, sort_keys=False)
        write_text(kept.path / "settings.yaml", text)
        kept.finish({**run.result, "settings": settings})


def _refuse_others(folder: Path, kept: Collection[Path]) -> None:
    present = [settings.parent for settings in sorted(folder.rglob("settings.yaml"))]
    others = [path for path in present if path not in kept]
    if others:
        raise SettingsError(
            f"{folder} holds {len(others)} runs that are not among those to keep, such "
            f"as {others[0]}: remove them, or choose another folder"
        )

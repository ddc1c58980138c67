"""Which runs a report is about."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.runs.run_folder import WITHOUT_EFFECT, RunFolder
from udil_avalanche.settings import as_dict, settings_class
from udil_avalanche.settings.roles import (
    DATA_SETTINGS,
    FIRST_SEED_FOR_CHOOSING,
    OTHER_DATA,
)

READ = ("metrics.jsonl", "embeddings.json")
"""What a report reads of a run besides its result."""


@dataclass(frozen=True)
class Run:
    """A finished run.

    :param folder: where it lies.
    :param result: what its ``result.json`` says.
    """

    folder: Path
    result: Mapping[str, Any]

    @property
    def method(self) -> str:
        """The strategy."""
        return str(self.result["strategy"])

    @property
    def benchmark(self) -> str:
        """What was learned."""
        return str(self.result["benchmark"])

    @property
    def memory(self) -> int:
        """Samples kept of past domains."""
        return int(self.result["memory"])

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.result["seed"])

    @property
    def identity(self) -> str:
        """The benchmark and the folder's name, which ends in a hash of the settings."""
        return f"{self.benchmark}/{self.folder.name}"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the result; what the run did not know yet is as it
        is by default."""
        known = {**self._defaults, **self.result["settings"]}
        return {key: known[key] for key in known if key not in WITHOUT_EFFECT}

    @cached_property
    def problem(self) -> dict[str, Any]:
        """How the data differ from those that the benchmark has by default."""
        differing = {
            key: self.settings[key]
            for key in DATA_SETTINGS
            if key in self.settings and self.settings[key] != self._defaults[key]
        }
        if str(self.result["data"]).startswith(OTHER_DATA):
            differing["data"] = self.result["data"]
        return differing

    @property
    def comparison_key(self) -> str:
        """What two runs have in common that should have come to the same, though the
        names of their folders may differ: an older version knew fewer settings."""
        same = [self.method, self.benchmark, self.problem, self.settings]
        return json.dumps(same, sort_keys=True)

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """How it was learned: the settings without the data and the seed."""
        return {
            key: value
            for key, value in self.settings.items()
            if key not in (*DATA_SETTINGS, "seed")
        }

    @property
    def train_per_domain(self) -> int | None:
        """How many training samples of a domain it used; None for all."""
        used: int | None = self.settings["train_per_domain"]
        return used

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return as_dict(settings_class(self.method, self.benchmark)())


@dataclass
class RunCollection:
    """The runs that are reported, and those that are not.

    :param runs: the runs that are reported.
    :param left_out: by the reason, the folders that are not.
    """

    runs: list[Run] = field(default_factory=list)
    left_out: dict[str, list[Path]] = field(default_factory=dict)


def collect(
    places: Iterable[str | Path], only: Collection[str] | None = None
) -> RunCollection:
    """Read the run folders at or below some places.

    Left out are runs that are not finished, runs that were tested on held-out training
    data, and runs on seeds that are for choosing settings. Of two runs by the same
    settings, one counts.

    :param places: run folders, or folders with run folders below.
    :param only: the identities of the runs to take; all by default.
    :raises SettingsError: if a place does not exist, if two folders hold different
        results of the same settings, or if they have the same name and different data.
    """
    found = RunCollection()
    first: dict[str, Run] = {}
    named: dict[str, Run] = {}
    for folder in _run_folders(places):
        reason = _reason_to_leave_out(folder, only)
        if reason:
            found.left_out.setdefault(reason, []).append(folder.path)
            continue
        run = Run(folder.path, folder.result())
        twin = first.setdefault(run.comparison_key, run)
        if twin is run:
            namesake = named.setdefault(run.identity, run)
            if namesake is not run:
                raise SettingsError(
                    f"{namesake.folder} and {run.folder} have the same name but other "
                    "data: report one of them alone"
                )
            found.runs.append(run)
        elif twin.result["accuracy_matrix"] != run.result["accuracy_matrix"]:
            raise SettingsError(
                f"{twin.folder} and {run.folder} have the same settings but different "
                "results: report one of them alone"
            )
    return found


def _run_folders(places: Iterable[str | Path]) -> list[RunFolder]:
    found: dict[Path, RunFolder] = {}
    for place in map(Path, places):
        if not place.is_dir():
            raise SettingsError(f"there is no folder {place}")
        for settings in sorted(place.rglob("settings.yaml")):
            found.setdefault(settings.parent.resolve(), RunFolder(settings.parent))
    return list(found.values())


def _reason_to_leave_out(folder: RunFolder, only: Collection[str] | None) -> str | None:
    if not folder.is_done:
        return "not finished"
    try:
        result = folder.result()
        folder.check([name for name in READ if (folder.path / name).exists()])
    except RunError as error:
        return " ".join(["damaged:", *str(error).split()])
    if result["settings"]["validation"] > 0:
        return "tested on held-out training data"
    if result["seed"] >= FIRST_SEED_FOR_CHOOSING:
        return f"seed {FIRST_SEED_FOR_CHOOSING} or above, for choosing settings"
    if only is not None and f"{result['benchmark']}/{folder.path.name}" not in only:
        return "not part of the sweep"
    return None


__all__ = ["READ", "Run", "RunCollection", "collect"]

"""From the YAML file of a sweep to the settings of its runs."""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS, Role, RunSettings
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.resolve import CONFIGS, current_names, resolve
from udil_avalanche.recipes.settings import names_with
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.budget import Budget, budget_of
from udil_avalanche.sweep.entries import (
    combinations,
    mapping_of,
    refuse_reserved,
    values_of,
)

LONGEST_NAME = 100
KEYS = ("strategies", "benchmarks", "memory", "seeds", "settings", "search")


@dataclass(frozen=True)
class Sweep:
    """Many runs.

    :param file: the file that describes them.
    :param runs: their settings, in the order in which they start: all runs of a seed
        before those of the next, so that the first results cover all methods.
    :param budget: what is tried, if the sweep is a search for settings.
    :param overrides: settings of all runs from the command line, as ``key=value``.
    """

    file: Path
    runs: list[RunSettings] = field(default_factory=list)
    budget: Budget | None = None
    overrides: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the file and the overrides that change the runs, so that a quick
        trial is not confused with the search itself."""
        classes = {RunSettings, *map(type, self.runs)}
        places = {
            plain_name(name)
            for each in classes
            for name, key in current_names(each).items()
            if key in names_with(Role.PLACE, each) - {"data"}
        }
        changes = sorted(
            override
            for override in self.overrides
            if plain_name(override.partition("=")[0]) not in places
        )
        name = "+".join([self.file.stem, *changes]).replace("/", "_")
        if len(name) <= LONGEST_NAME:
            return name
        return f"{self.file.stem}+{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def load_sweep(
    file: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    overrides: Iterable[str] = (),
    configs: Path = CONFIGS,
) -> Sweep:
    """Read a sweep and check the settings of all its runs.

    :param file: YAML with ``strategies`` (a list or ``all``), ``benchmarks``, ``seeds``
        and perhaps ``memory``, ``settings`` and ``search``.
    :param options: settings of every run.
    :param overrides: more of them, as ``"key=value"``; they take precedence.
    :param configs: folder with the settings that are known to work.
    :raises SettingsError: if something in it cannot be run.
    """
    file = Path(file)
    written = _load(file)
    try:
        return _sweep(file, written, dict(options or {}), list(overrides), configs)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error}") from None


def _sweep(
    file: Path,
    written: dict[str, Any],
    options: dict[str, Any],
    overrides: list[str],
    configs: Path,
) -> Sweep:
    written = {nearest(key, KEYS, "entry"): written[key] for key in written}
    strategies = _names(written, "strategies", METHODS)
    benchmarks = _names(written, "benchmarks", BENCHMARKS)
    seeds = values_of("seeds", written.get("seeds", 0))
    sizes = values_of("memory", written.get("memory"))
    fixed = mapping_of("settings", written.get("settings"))
    refuse_reserved(fixed, "settings")
    budget = None
    if "search" in written:
        if len(combinations(fixed)) > 1:
            raise SettingsError(
                "in a search, the settings that vary belong in its ranges"
            )
        search = mapping_of("search", written["search"])
        budget = budget_of(search, strategies, sizes)
    common = {**(budget.options if budget else {}), **options}
    found: dict[Path, RunSettings] = {}
    for seed, benchmark, memory, strategy in itertools.product(
        seeds, benchmarks, sizes, strategies
    ):
        own = {"seed": seed}
        if memory is not None and METHODS[strategy].has_memory:
            own["memory"] = memory
        trials = budget.trials[strategy] if budget else [{}]
        for chosen, trial in itertools.product(combinations(fixed), trials):
            run = resolve(
                strategy,
                benchmark,
                options={**chosen, **trial, **own, **common},
                overrides=overrides,
                configs=configs,
            )
            if found.setdefault(RunFolder.of(run).path, run) is not run and budget:
                raise SettingsError(
                    f"two trials of {strategy} are the same run: a search cannot vary "
                    "what key=value or settings has set"
                )
    if budget is not None:
        budget.check(list(found.values()))
    return Sweep(file, list(found.values()), budget, tuple(overrides))


def _load(file: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(f"cannot read the sweep {file}: {reason}") from None
    return mapping_of(f"the sweep {file}", loaded)


def _names(written: dict[str, Any], kind: str, known: Mapping[str, Any]) -> list[str]:
    if kind not in written:
        raise SettingsError(f"name the {kind}: a list, or all")
    if written[kind] == "all":
        return list(known)
    listed = values_of(kind, written[kind])
    singular = {"strategies": "strategy", "benchmarks": "benchmark"}[kind]
    return [nearest(str(name), known, singular) for name in listed]

"""From the YAML file of a sweep to the settings of its runs."""

import hashlib
import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS, Role, RunSettings
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.resolve import CONFIGS, current_names, read_yaml, resolve
from udil_avalanche.recipes.settings import names_with
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.budget import Budget, budget_of
from udil_avalanche.sweep.config_files import config_files, refuse_missing
from udil_avalanche.sweep.entries import (
    MOST,
    combinations,
    mapping_of,
    refuse_reserved,
    values_of,
)
from udil_avalanche.sweep.streams import Stream, streams_of
from udil_avalanche.sweep.titles import Cell
from udil_avalanche.sweep.variants import variants_of

LONGEST_NAME = 100
KEYS = (
    *("strategies", "benchmarks", "streams", "memory", "seeds"),
    *("configs", "settings", "variants", "search"),
)


@dataclass(frozen=True)
class Sweep:
    """Many runs.

    :param file: the file that describes them.
    :param runs: their settings, in the order in which they start: all runs of a seed
        before those of the next, so that the first results cover all methods.
    :param budget: what is tried, if the sweep is a search for settings.
    :param overrides: settings of all runs from the command line, as ``key=value``.
    :param cells: where each run belongs, by its folder.
    :param whole: for each trial of a search, by its folder, its settings without what
        the search adds to them: on the whole stream, tested on the test data.
    :param has_streams: whether it goes over streams instead of benchmarks.
    """

    file: Path
    runs: list[RunSettings] = field(default_factory=list)
    budget: Budget | None = None
    overrides: tuple[str, ...] = ()
    cells: dict[Path, Cell] = field(default_factory=dict)
    has_streams: bool = False
    whole: dict[Path, RunSettings] = field(default_factory=dict)

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

    :param file: YAML with ``strategies`` (a list or ``all``), ``benchmarks`` or
        ``streams``, ``seeds`` and perhaps ``memory``, ``configs``, ``settings`` and
        ``variants`` or ``search``.
    :param options: settings of every run.
    :param overrides: more of them, as ``"key=value"``; they take precedence.
    :param configs: folder with the settings that are known to work.
    :raises SettingsError: if something in it cannot be run.
    """
    file = Path(file)
    written = mapping_of(f"the sweep {file}", read_yaml(file, "sweep", yaml.SafeLoader))
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
    streams = _streams(written, strategies)
    seeds = values_of("seeds", written.get("seeds", 0))
    sizes = values_of("memory", written.get("memory"))
    fixed = mapping_of("settings", written.get("settings"))
    refuse_reserved(fixed, "settings")
    budget = _budget(written, strategies, sizes, fixed)
    variants = variants_of(written["variants"]) if "variants" in written else {"": {}}
    files = config_files(written, configs)
    if budget is not None and len(files) > 1:
        raise SettingsError("a search starts from one folder of configs, not several")
    refuse_missing(files, strategies, [stream.benchmark for stream in streams])
    _count_first(
        seeds, streams, sizes, strategies, combinations(fixed), variants, files
    )
    found: dict[Path, RunSettings] = {}
    cells: dict[Path, Cell] = {}
    whole: dict[Path, RunSettings] = {}
    for seed, stream, memory, strategy in itertools.product(
        seeds, streams, sizes, strategies
    ):
        own = {"seed": seed}
        if memory is not None and METHODS[strategy].has_memory:
            own["memory"] = memory
        tried = [*variants.items()]
        if budget is not None:
            tried = [("", trial) for trial in budget.trials[strategy]]
        for chosen, (variant, trial), source in itertools.product(
            combinations(fixed), tried, files
        ):
            start = source.arguments(strategy, stream.benchmark)
            if start is None:
                continue
            of_stream = stream.options_for(strategy)
            given = {**chosen, **of_stream, **trial, **own}
            run = resolve(
                strategy,
                stream.benchmark,
                options={**given, **(budget.options if budget else {}), **options},
                overrides=budget.overrides(overrides) if budget else overrides,
                **start,
            )
            path = RunFolder.of(run).path
            if budget is not None:
                whole[path] = resolve(
                    strategy,
                    stream.benchmark,
                    options={**given, **options},
                    overrides=overrides,
                    **start,
                )
            variant = ", ".join(filter(None, [variant, source.name]))
            cell = Cell(run.strategy, stream.name or run.benchmark, variant)
            if found.setdefault(path, run) is not run and budget:
                raise SettingsError(
                    f"two trials of {strategy} are the same run: a search cannot vary "
                    "what key=value or settings has set"
                )
            if cells.setdefault(path, cell) != cell:
                raise SettingsError(f"{cells[path]} and {cell} are the same run")
    if budget is not None:
        budget.check(list(found.values()))
    runs = list(found.values())
    has_streams = "streams" in written
    return Sweep(file, runs, budget, tuple(overrides), cells, has_streams, whole)


def _count_first(*choices: Collection[Any]) -> None:
    count = math.prod(map(len, choices))
    if count > MOST:
        raise SettingsError(f"{count:,} runs are more than {MOST:,}")


def _streams(written: dict[str, Any], strategies: list[str]) -> list[Stream]:
    """The streams of a sweep; if it has none, its benchmarks, without names."""
    if "streams" not in written:
        benchmarks = _names(written, "benchmarks", BENCHMARKS)
        return [Stream("", benchmark) for benchmark in benchmarks]
    for key, instead in {
        "benchmarks": "name the benchmark of each stream",
        "memory": "set the memory of each stream",
        "search": "a search goes over benchmarks",
    }.items():
        if key in written:
            raise SettingsError(f"streams and {key} do not go together: {instead}")
    fixed = mapping_of("settings", written.get("settings"))
    if len(combinations(fixed)) > 1:
        raise SettingsError("with streams, settings that vary belong in variants")
    return streams_of(written["streams"], strategies)


def _budget(
    written: dict[str, Any],
    strategies: list[str],
    sizes: list[Any],
    fixed: dict[str, Any],
) -> Budget | None:
    if "search" not in written:
        return None
    if "variants" in written:
        raise SettingsError("variants and search do not go together")
    if len(combinations(fixed)) > 1:
        raise SettingsError("in a search, the settings that vary belong in its ranges")
    return budget_of(mapping_of("search", written["search"]), strategies, sizes)


def _names(written: dict[str, Any], kind: str, known: Mapping[str, Any]) -> list[str]:
    if kind not in written:
        raise SettingsError(f"name the {kind}: a list, or all")
    if written[kind] == "all":
        return list(known)
    if written[kind] is None:
        raise SettingsError(f"{kind} is empty: name them in a list, or write all")
    listed = values_of(kind, written[kind])
    singular = {"strategies": "strategy", "benchmarks": "benchmark"}[kind]
    return [nearest(str(name), known, singular) for name in listed]

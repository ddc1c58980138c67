"""From the YAML file of a sweep to the settings of its runs."""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import CONFIGS, nearest, plain_name, resolve
from udil_avalanche.runs.run_folder import WITHOUT_EFFECT, RunFolder
from udil_avalanche.settings import BENCHMARKS, STRATEGIES, RunSettings, keeps_samples
from udil_avalanche.sweep.budget import Budget, budget_of
from udil_avalanche.sweep.reserved import refuse_reserved
from udil_avalanche.sweep.values import combinations, mapping_of, values_of

LONGEST_NAME = 100
KEYS = ("strategies", "benchmarks", "memory", "seeds", "settings", "search")


@dataclass(frozen=True)
class Sweep:
    """Many runs.

    :param file: where they are described.
    :param runs: their settings, in the order in which they start: one seed after
        another, so that whatever is done after a while is broad rather than deep.
    :param budget: how settings are chosen, if that is what it is for.
    :param overrides: what the command line says of all runs, as ``key=value``.
    """

    file: Path
    runs: list[RunSettings] = field(default_factory=list)
    budget: Budget | None = None
    overrides: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the file, and what makes the runs others than it says: so that a
        rehearsal is not taken for the search."""
        places = {plain_name(key) for key in WITHOUT_EFFECT} - {"data"}
        others = sorted(
            override
            for override in self.overrides
            if plain_name(override.partition("=")[0]) not in places
        )
        name = "+".join([self.file.stem, *others]).replace("/", "_")
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
    :param overrides: more of them, as ``"key=value"``; they win.
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
    strategies = _names(written, "strategies", STRATEGIES)
    benchmarks = _names(written, "benchmarks", BENCHMARKS)
    seeds = values_of("seeds", written.get("seeds", 0))
    sizes = values_of("memory", written.get("memory"))
    fixed = mapping_of("settings", written.get("settings"))
    refuse_reserved(fixed, "settings")
    budget = None
    if "search" in written:
        if len(combinations(fixed)) > 1:
            raise SettingsError("in a search, what varies belongs into its ranges")
        search = mapping_of("search", written["search"])
        budget = budget_of(search, strategies, sizes)
    common = {**(budget.options if budget else {}), **options}
    found: dict[Path, RunSettings] = {}
    for seed, benchmark, memory, strategy in itertools.product(
        seeds, benchmarks, sizes, strategies
    ):
        own = {"seed": seed, **_memory_option(strategy, memory)}
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
                    f"two trials of {strategy} are the same run: what key=value or "
                    "settings say, the search cannot vary"
                )
    if budget is not None:
        budget.check(list(found.values()))
    return Sweep(file, list(found.values()), budget, tuple(overrides))


def _memory_option(strategy: str, memory: int | None) -> dict[str, Any]:
    if memory is None or not keeps_samples(strategy):
        return {}
    return {"memory": memory}


def _load(file: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(f"cannot read the sweep {file}: {reason}") from None
    if not isinstance(loaded, dict):
        raise SettingsError(f"the sweep {file} must hold lines of key: value")
    return {str(key): entry for key, entry in loaded.items()}


def _names(written: dict[str, Any], kind: str, known: Mapping[str, Any]) -> list[str]:
    if kind not in written:
        raise SettingsError(f"name the {kind}: a list, or all")
    if written[kind] == "all":
        return list(known)
    listed = values_of(kind, written[kind])
    singular = {"strategies": "strategy", "benchmarks": "benchmark"}[kind]
    return [nearest(str(name), known, singular) for name in listed]


__all__ = ["KEYS", "Sweep", "load_sweep"]

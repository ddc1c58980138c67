"""The streams of a sweep: named benchmarks, each with its own settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.resolve import run_settings_class, setting_name
from udil_avalanche.sweep.entries import mapping_of, refuse_reserved, single_values


@dataclass(frozen=True)
class Stream:
    """What the methods of a sweep learn.

    :param name: what it is called; empty if it is just its benchmark.
    :param benchmark: name of the benchmark.
    :param settings: settings of every run on it, as written.
    """

    name: str
    benchmark: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def options_for(self, strategy: str) -> dict[str, Any]:
        """The settings that a strategy has, the memory only if it keeps samples.

        :param strategy: name of the strategy.
        """
        return {
            key: value
            for key, value in self.settings.items()
            if _problem(key, strategy, self.benchmark) is None
            and (plain_name(key) != "memory" or METHODS[strategy].has_memory)
        }


def streams_of(written: Any, strategies: Sequence[str]) -> list[Stream]:
    """Check the streams of a sweep.

    :param written: for each name of a stream its settings, ``benchmark`` among them.
    :param strategies: the strategies of the sweep. Those that do not have a setting of
        a stream go without it.
    :raises SettingsError: if a stream is malformed, or no strategy has its setting.
    """
    streams = mapping_of("streams", written)
    if not streams:
        raise SettingsError("streams needs a line of name: {benchmark: ..., ...}")
    return [_stream(name, streams[name], strategies) for name in streams]


def _stream(name: str, written: Any, strategies: Sequence[str]) -> Stream:
    where = f"stream {name}"
    settings = mapping_of(where, written)
    benchmarks = [key for key in settings if plain_name(key) == "benchmark"]
    if len(benchmarks) != 1:
        raise SettingsError(f"{where}: name its benchmark")
    benchmark = nearest(str(settings.pop(benchmarks[0])), BENCHMARKS, "benchmark")
    refuse_reserved(settings, where, allowed={"memory"})
    single_values(settings, where)
    for key in settings:
        problems = [_problem(key, strategy, benchmark) for strategy in strategies]
        if all(problems):
            raise SettingsError(f"{where}: {problems[0]}")
    return Stream(name, benchmark, settings)


def _problem(key: str, strategy: str, benchmark: str) -> str | None:
    """Why a strategy on a benchmark cannot have a setting; None if it has it."""
    try:
        setting_name(key, run_settings_class(strategy, benchmark))
    except SettingsError as error:
        return str(error)
    return None

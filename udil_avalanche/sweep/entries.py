"""The entries of a sweep's file."""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.names import plain_name

MOST = 100_000
"""More combinations, values of a range, or runs than this are a slip of the pen. They
are counted before any is made."""

SET_ELSEWHERE = {
    "strategy": "strategies",
    "benchmark": "benchmarks",
    "memory": "memory, an entry of the sweep",
    "seed": "seeds",
    "threads": "--threads",
    "output": "--output",
}
"""The settings that a sweep has another entry or option for."""


def refuse_reserved(
    names: Iterable[str], where: str, allowed: Collection[str] = ()
) -> None:
    """Refuse settings that a sweep has another entry or option for.

    :param names: the settings, as written.
    :param where: where they are written.
    :param allowed: those that may be written there all the same.
    :raises SettingsError: if one of them belongs elsewhere.
    """
    for name in map(plain_name, names):
        if name in SET_ELSEWHERE and name not in allowed:
            raise SettingsError(f"{where}: set {name} by {SET_ELSEWHERE[name]}")


def mapping_of(key: str, written: Any) -> dict[str, Any]:
    """The lines of ``key: value`` below an entry; empty if there is nothing.

    :param key: the name of the entry, for the message.
    :param written: what is written there.
    :raises SettingsError: if it is something else.
    """
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise SettingsError(f"{key} must hold lines of key: value")
    return {str(name): value for name, value in written.items()}


def single_values(settings: Mapping[str, Any], where: str) -> None:
    """Refuse several values of a setting.

    :param settings: the settings, as written.
    :param where: where they are written.
    :raises SettingsError: if one of them is a list or a range.
    """
    for key, value in settings.items():
        if isinstance(value, list | dict):
            raise SettingsError(f"{where}: {key} has one value there, not several")


def values_of(key: str, written: Any) -> list[Any]:
    """All values of a setting.

    :param key: the setting, for the message.
    :param written: a value, a list of values, or a range
        ``{from: 0.01, to: 100, steps: 5, scale: log}`` that includes both ends.
    :raises SettingsError: if it is an empty list or a malformed range.
    """
    if isinstance(written, Mapping):
        return _range(key, dict(written))
    values = written if isinstance(written, list) else [written]
    if not values:
        raise SettingsError(f"{key}: the list of values is empty")
    return values


def combinations(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values of some settings.

    :param settings: the values of each, see :func:`values_of`.
    """
    values = [values_of(key, written) for key, written in settings.items()]
    count = math.prod(map(len, values))
    if count > MOST:
        raise SettingsError(
            f"{', '.join(settings)}: {count:,} combinations are more than {MOST:,}"
        )
    return [
        dict(zip(settings, chosen, strict=True))
        for chosen in itertools.product(*values)
    ]


def _range(key: str, written: dict[str, Any]) -> list[float | int]:
    form = f"{key}: write a range as {{from: 0.01, to: 100, steps: 5, scale: log}}"
    scale = written.pop("scale", "linear")
    try:
        first, last = float(written.pop("from")), float(written.pop("to"))
        steps = int(written.pop("steps"))
    except (KeyError, OverflowError, TypeError, ValueError):
        raise SettingsError(form) from None
    if steps > MOST:
        raise SettingsError(f"{key}: {steps:,} steps are more than {MOST:,}")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise SettingsError(f"{key}: both ends of a range must be finite")
    if written or steps < 2 or scale not in ("linear", "log"):
        raise SettingsError(form)
    if scale == "log" and min(first, last) <= 0:
        raise SettingsError(f"{key}: a range with scale: log must be above 0")
    shares = [step / (steps - 1) for step in range(steps)]
    if scale == "log":
        values = [first * (last / first) ** share for share in shares]
    else:
        values = [first + (last - first) * share for share in shares]
    return [_plain_number(value) for value in values]


def _plain_number(value: float) -> float | int:
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded

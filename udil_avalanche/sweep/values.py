"""Lists and ranges of a setting, as a sweep's file has them."""

import itertools
from collections.abc import Mapping
from typing import Any

from udil_avalanche.errors import SettingsError


def values_of(key: str, written: Any) -> list[Any]:
    """All values that are to be tried of a setting.

    :param key: the setting, for the message.
    :param written: a value, a list of values, or a range
        ``{from: 0.01, to: 100, steps: 5, scale: log}``, both ends included.
    :raises SettingsError: if it is neither.
    """
    if isinstance(written, Mapping):
        return _range(key, dict(written))
    values = written if isinstance(written, list) else [written]
    if not values:
        raise SettingsError(f"{key}: the list of values is empty")
    return values


def mapping_of(key: str, written: Any) -> dict[str, Any]:
    """What is written below a key, by name; nothing written is none.

    :param key: the key, for the message.
    :param written: what is written there.
    :raises SettingsError: if there is something else than lines of ``key: value``.
    """
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise SettingsError(f"{key} must hold lines of key: value")
    return {str(name): value for name, value in written.items()}


def combinations(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the values of some settings.

    :param settings: what is to be tried of each, see :func:`values_of`.
    """
    tried = [values_of(key, written) for key, written in settings.items()]
    return [
        dict(zip(settings, values, strict=True)) for values in itertools.product(*tried)
    ]


def _range(key: str, written: dict[str, Any]) -> list[Any]:
    form = f"{key}: write a range as {{from: 0.01, to: 100, steps: 5, scale: log}}"
    scale = written.pop("scale", "linear")
    try:
        first, last = float(written.pop("from")), float(written.pop("to"))
        steps = int(written.pop("steps"))
    except (KeyError, TypeError, ValueError):
        raise SettingsError(form) from None
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


__all__ = ["combinations", "mapping_of", "values_of"]

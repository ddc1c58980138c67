"""How the settings of a run come about: from defaults, files and the command line.

Loads neither torch nor Avalanche, so that a mistake is answered at once.
"""

import difflib
import math
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from udil_avalanche.errors import SettingsError
from udil_avalanche.settings import (
    BENCHMARKS,
    STRATEGIES,
    RunSettings,
    meanings,
    settings_class,
)

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
"""The settings that are known to work; they lie beside the package in a checkout."""


def resolve(
    strategy: str | None = None,
    benchmark: str | None = None,
    *,
    config_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    overrides: Iterable[str] = (),
    configs: Path | None = CONFIGS,
) -> RunSettings:
    """Put the settings of a run together and check them.

    The later wins: the defaults, ``<configs>/<benchmark>/<strategy>.yaml``, the config
    file, the options, the overrides.

    :param strategy: how to learn; may be left to the config file.
    :param benchmark: what to learn; may be left to the config file.
    :param config_file: YAML file with settings, such as the ``settings.yaml`` of a run.
    :param options: settings by name; None is a value like others, null.
    :param overrides: settings as ``"key=value"``.
    :param configs: folder with the settings that are known to work; None for the
        defaults instead.
    :raises SettingsError: if a name or a value is wrong.
    """
    stages = [] if config_file is None else [_load(Path(config_file))]
    names_given = {"strategy": strategy, "benchmark": benchmark}
    stages += [
        {key: name for key, name in names_given.items() if name is not None}
        | dict(options or {}),
        dict(_split(override) for override in overrides),
    ]

    names = {}
    for kind, known in (("strategy", STRATEGIES), ("benchmark", BENCHMARKS)):
        written = [stage.pop(kind) for stage in stages if kind in stage]
        if not written:
            raise SettingsError(f"choose a {kind}: --{kind} {' | '.join(known)}")
        names[kind] = nearest(str(written[-1]), known, kind)

    if configs is None:
        return _merge(settings_class(**names), stages)
    if configs.is_dir():
        tried = configs / names["benchmark"] / f"{names['strategy'].lower()}.yaml"
        if tried.exists():
            stages.insert(0, _load(tried))
    elif config_file is None:
        raise SettingsError(
            f"the folder {configs} is missing: install from a checkout with "
            "'pip install -e .', or give the settings by --config FILE"
        )
    return _merge(settings_class(**names), stages)


def nearest(name: str, known: Iterable[str], kind: str) -> str:
    """The known name that is meant; letter case, hyphens and underscores do not matter.

    :param name: what was written.
    :param known: the right names.
    :param kind: what they are names of, for the message.
    :raises SettingsError: if there is none; it suggests the most similar one.
    """
    by_plain_name = {plain_name(right): right for right in known}
    if plain_name(name) in by_plain_name:
        return by_plain_name[plain_name(name)]
    similar = difflib.get_close_matches(
        plain_name(name), by_plain_name, n=1, cutoff=0.5
    )
    hint = (
        f"did you mean {by_plain_name[similar[0]]}?"
        if similar
        else "--help and --list show what there is"
    )
    raise SettingsError(f"there is no {kind} '{name}': {hint}")


def plain_name(name: str) -> str:
    """A name without what does not matter: letter case, hyphens and underscores."""
    return name.lower().replace("-", "").replace("_", "")


def _split(override: str) -> tuple[str, str]:
    key, equals, value = override.partition("=")
    if not equals:
        raise SettingsError(f"'{override}' is not a setting: write key=value")
    return key.strip(), value.strip()


def _load(path: Path) -> dict[str, Any]:
    try:
        # Texts and nothing else: they get their types from the settings, and no tag or
        # reference in the file has any effect.
        loaded = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise SettingsError(f"cannot read the config file {path}: {reason}") from None
    if not isinstance(loaded, dict) or not all(
        isinstance(part, str) for line in loaded.items() for part in line
    ):
        raise SettingsError(f"the config file {path} must hold lines of key: value")
    return loaded


def _merge(schema: type[RunSettings], stages: list[dict[str, Any]]) -> RunSettings:
    known = {each.name: each for each in fields(schema)}
    merged = OmegaConf.structured(schema)
    for stage in stages:
        for written, value in stage.items():
            key = _setting(written, known, schema.__name__)
            choices = _choices(known[key].type)
            if value in ("null", "none", "None", "~", "") and types.NoneType in choices:
                value = None
            if not str(value).isprintable() or "${" in str(value):
                raise SettingsError(f"{key}={value!a}: expected a plain text")
            if typing.get_origin(known[key].type) is typing.Literal:
                by_plain_name = {plain_name(choice): choice for choice in choices}
                value = by_plain_name.get(plain_name(str(value)), value)
            try:
                OmegaConf.update(merged, key, value)
            except OmegaConfBaseException:
                expected = " or ".join(_in_words(choice) for choice in choices)
                raise SettingsError(
                    f"{key}={value}: expected {expected} ({meanings(schema)[key]})"
                ) from None
    try:
        settings = cast(RunSettings, OmegaConf.to_object(merged))
    except OmegaConfBaseException as error:
        raise SettingsError(str(error).splitlines()[0]) from None
    _check(settings)
    return settings


def _setting(written: str, known: Mapping[str, Any], run: str) -> str:
    owners = [
        name
        for name, owner in (STRATEGIES | BENCHMARKS).items()
        if written in (each.name for each in fields(owner))
    ]
    if owners and plain_name(written) not in map(plain_name, known):
        raise SettingsError(
            f"{run} has no setting '{written}': it is one of {', '.join(owners)}"
        )
    return nearest(written, known, "setting")


def _choices(annotation: Any) -> tuple[Any, ...]:
    """The types or values that a field's annotation allows."""
    return typing.get_args(annotation) or (annotation,)


def _in_words(choice: Any) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        types.NoneType: "null",
    }
    return words.get(choice, str(choice))


def _check(settings: RunSettings) -> None:
    for each in fields(settings):
        value = getattr(settings, each.name)
        if isinstance(value, (int, float)) and not _within(value, each.metadata):
            limits = [
                f"{limit.replace('_', ' ')} {bound}"
                for limit, bound in each.metadata.items()
                if math.isfinite(bound)
            ]
            raise SettingsError(
                f"{each.name}={value}: must be {' and '.join(limits)} "
                f"({meanings(type(settings))[each.name]})"
            )
    if settings.optimizer != "sgd" and settings.momentum:
        raise SettingsError(
            f"momentum={settings.momentum}: {settings.optimizer} has no such setting"
        )
    if 0 < settings.memory < settings.domains:
        raise SettingsError(
            f"memory={settings.memory}: too small for one sample of each of "
            f"{settings.domains} domains"
        )


def _within(value: float, limits: Mapping[str, float]) -> bool:
    return not limits or (
        math.isfinite(value)
        and limits["at_least"] <= value <= limits["at_most"]
        and limits["above"] < value < limits["below"]
    )


__all__ = ["CONFIGS", "nearest", "plain_name", "resolve"]

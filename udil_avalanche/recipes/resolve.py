"""How the settings of a run are put together: defaults, files, the command line.

Loads neither torch nor Avalanche, so that a mistake is answered at once.
"""

import types
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.catalogue import BENCHMARKS, METHODS
from udil_avalanche.recipes.names import nearest, plain_name
from udil_avalanche.recipes.recipe import Recipe
from udil_avalanche.recipes.settings import (
    RunSettings,
    all_names,
    meanings,
    own_settings,
    settings_class,
    value_before,
)

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "configs"
CONFIGS = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent / "configs"
"""The settings that are known to work: in the wheel inside the package, in a checkout
beside it."""

_OFTEN_MEANT = {
    **dict.fromkeys(("learningrate", "rate", "stepsize"), "lr"),
    **dict.fromkeys(("memsize", "memorysize", "buffersize", "buffer"), "memory"),
    **dict.fromkeys(("trainepochs", "nepochs", "numepochs"), "epochs"),
    **dict.fromkeys(("trainmbsize", "bs", "minibatchsize"), "batch_size"),
    **dict.fromkeys(("evalmbsize", "testbatchsize"), "eval_batch_size"),
    **dict.fromkeys(("wd", "l2"), "weight_decay"),
    **dict.fromkeys(("ndomains", "numdomains", "tasks", "nexperiences"), "domains"),
    **dict.fromkeys(("out", "outputdir", "dir"), "output"),
    **dict.fromkeys(("hiddensize", "width"), "hidden"),
}
"""Settings by the names that they have elsewhere, which no similarity finds."""

_LIMITS = {Ge: "at least", Gt: "above", Le: "at most", Lt: "below"}
_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    types.NoneType: "null",
}


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

    Later ones win: the defaults, those of the benchmark's switches that are on (see
    ``defaults_with`` of :class:`~udil_avalanche.recipes.recipe.BenchmarkRecipe`),
    ``<configs>/<benchmark>/<strategy>.yaml``, the config file, the options, the
    overrides.

    :param strategy: how to learn; may be left to the config file.
    :param benchmark: what to learn; may be left to the config file.
    :param config_file: YAML file with settings.
    :param options: settings by name; None is a value like others, null.
    :param overrides: settings as ``"key=value"``.
    :param configs: folder with the settings that are known to work; None for the
        defaults instead.
    :raises SettingsError: if a name or a value is wrong.
    """
    stages = [] if config_file is None else [load_settings(Path(config_file))]
    names_given = {"strategy": strategy, "benchmark": benchmark}
    stages += [
        {key: name for key, name in names_given.items() if name is not None}
        | dict(options or {}),
        key_values(overrides),
    ]
    names = {}
    for kind, known in (("strategy", METHODS), ("benchmark", BENCHMARKS)):
        written = [stage.pop(kind) for stage in stages if kind in stage]
        if not written:
            raise SettingsError(f"choose a {kind}: --{kind} {' | '.join(known)}")
        names[kind] = nearest(str(written[-1]), known, kind)
    if configs is not None:
        tried = configs / names["benchmark"] / f"{names['strategy'].lower()}.yaml"
        if tried.exists():
            stages.insert(0, load_settings(tried))
    schema = run_settings_class(**names)
    switched = _switched_defaults(schema, _merge(schema, stages))
    return _merge(schema, [*switched, *stages])


@cache
def run_settings_class(strategy: str, benchmark: str) -> type[RunSettings]:
    """The class with all settings of a strategy on a benchmark.

    :param strategy: a name from ``METHODS``.
    :param benchmark: a name from ``BENCHMARKS``.
    """
    recipe = BENCHMARKS[benchmark]
    names = {"strategy": strategy, "benchmark": benchmark}
    return settings_class(
        f"{strategy} on {benchmark}",
        recipe.settings,
        METHODS[strategy].settings,
        {**recipe.defaults, **names},
    )


def _switched_defaults(
    schema: type[RunSettings], settings: RunSettings
) -> list[dict[str, Any]]:
    """The defaults that come with the benchmark's switches that are on. What the method
    redefines stays."""
    own = own_settings(METHODS[settings.strategy].settings)
    return [
        {
            key: value
            for key, value in defaults.items()
            if key in schema.model_fields
            and not (key in own and key in RunSettings.model_fields)
        }
        for switch, defaults in BENCHMARKS[settings.benchmark].defaults_with.items()
        if getattr(settings, switch)
    ]


def from_dict(written: Mapping[str, Any]) -> RunSettings:
    """The inverse of :func:`~udil_avalanche.recipes.settings.as_dict`.

    :param written: all settings by name.
    """
    return run_settings_class(written["strategy"], written["benchmark"])(**written)


def stored_settings(written: Mapping[str, Any]) -> RunSettings:
    """The settings of a run that was made by this version or an earlier one, which may
    have known fewer settings, or some under other names.

    :param written: its settings by name.
    :raises SettingsError: if this version does not know them.
    """
    names = {
        "strategy": nearest(str(written.get("strategy")), METHODS, "strategy"),
        "benchmark": nearest(str(written.get("benchmark")), BENCHMARKS, "benchmark"),
    }
    schema = run_settings_class(**names)
    before = {key: value_before(f) for key, f in schema.model_fields.items()}
    return _merge(schema, [before, {**written, **names}])


def current_names(schema: type[RunSettings]) -> dict[str, str]:
    """The settings by all names that they have had.

    :param schema: the class of the settings.
    """
    fields = schema.model_fields.items()
    return {name: key for key, field in fields for name in all_names(key, field)}


def key_values(overrides: Iterable[str]) -> dict[str, str]:
    """Settings by name.

    :param overrides: settings as ``"key=value"``.
    :raises SettingsError: if one is written otherwise, or has two values.
    """
    found: dict[str, str] = {}
    for key, value in map(_split, overrides):
        if found.setdefault(key, value) != value:
            raise SettingsError(f"{key}={found[key]} and {key}={value}: give one value")
    return found


def _split(override: str) -> tuple[str, str]:
    key, equals, value = override.partition("=")
    if not equals:
        raise SettingsError(f"'{override}' is not a setting: write key=value")
    return key.strip(), value.strip()


def load_settings(path: Path) -> dict[str, Any]:
    """The lines of a file of settings, all values as texts.

    :param path: the file.
    :raises SettingsError: if it holds anything else.
    """
    # Every value as text: it gets its type from the settings, and no tag or reference
    # in the file has any effect.
    loaded = read_yaml(path, "config file", yaml.BaseLoader)
    if not isinstance(loaded, dict) or not all(
        isinstance(part, str) for line in loaded.items() for part in line
    ):
        raise SettingsError(f"the config file {path} must hold lines of key: value")
    return loaded


class _EachOnce:
    """Refuses entries that are written twice, of which YAML keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Make a dictionary.

        :param node: its lines.
        :param deep: make all that is below it, too.
        """
        found = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in found:
                problem = f"{key.value} is written twice"
                raise yaml.constructor.ConstructorError(
                    None, None, problem, key.start_mark
                )
            found.add(key.value)
        return super().construct_mapping(node, deep)  # type: ignore[misc]


def read_yaml(path: Path, kind: str, loader: type[Any]) -> Any:
    """What a YAML file holds.

    :param path: the file.
    :param kind: what it is, for the message.
    :param loader: decides what the values become.
    :raises SettingsError: if it cannot be read.
    """
    try:
        each_once = type("EachOnce", (_EachOnce, loader), {})
        return yaml.load(path.read_text(), Loader=each_once)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        if isinstance(error, RecursionError):
            reason = "its entries are nested too deeply"
        raise SettingsError(f"cannot read the {kind} {path}: {reason}") from None


def _merge(schema: type[RunSettings], stages: list[dict[str, Any]]) -> RunSettings:
    merged: dict[str, Any] = {}
    for stage in stages:
        given: dict[str, str] = {}
        for written, value in stage.items():
            key = setting_name(written, schema)
            if given.setdefault(key, written) != written:
                raise SettingsError(
                    f"{given[key]} and {written} are the same setting: give one of them"
                )
            merged[key] = _plain_value(key, value, schema.model_fields[key])
    try:
        settings = schema(**merged)
    except ValidationError as error:
        raise SettingsError(_explained(error, schema)) from None
    _check(settings)
    return settings


def setting_name(written: str, schema: type[RunSettings]) -> str:
    """The setting that is meant, also by an earlier name.

    :param written: its name as somebody wrote it.
    :param schema: the class of the settings.
    :raises SettingsError: if there is none; it says who has it, or the nearest name.
    """
    known = {plain_name(name): key for name, key in current_names(schema).items()}
    if plain_name(written) in known:
        return known[plain_name(written)]
    if plain_name(written) in _OFTEN_MEANT:
        meant = _OFTEN_MEANT[plain_name(written)]
        raise SettingsError(f"there is no setting '{written}': did you mean {meant}?")
    recipes: dict[str, Recipe] = {**METHODS, **BENCHMARKS}
    for spelling in (str, plain_name):
        owners = [
            name
            for name, recipe in recipes.items()
            if spelling(written) in map(spelling, current_names(recipe.settings))
        ]
        if owners:
            raise SettingsError(
                f"{schema.__name__} has no setting '{written}': it belongs to "
                f"{', '.join(owners)}"
            )
    return nearest(written, schema.model_fields, "setting")


def _plain_value(key: str, value: Any, field: FieldInfo) -> Any:
    # Whoever writes ${...} expects it to be replaced, which does not happen here.
    if not str(value).isprintable() or "${" in str(value):
        raise SettingsError(f"{key}={value!a}: expected a plain text")
    choices = _choices(field)
    if value in ("null", "none", "None", "~", "") and types.NoneType in choices:
        return None
    if typing.get_origin(field.annotation) is typing.Literal:
        by_plain_name = {plain_name(choice): choice for choice in choices}
        return by_plain_name.get(plain_name(str(value)), value)
    return value


def _choices(field: FieldInfo) -> tuple[Any, ...]:
    """The types or values that a setting may have."""
    return typing.get_args(field.annotation) or (field.annotation,)


def _explained(error: ValidationError, schema: type[RunSettings]) -> str:
    first = error.errors()[0]
    key, value = str(first["loc"][0]), first["input"]
    field = schema.model_fields[key]
    bounds = {
        words: getattr(limit, kind.__name__.lower())
        for kind, words in _LIMITS.items()
        for limit in field.metadata
        if isinstance(limit, kind)
    }
    limits = [f"{words} {bound}" for words, bound in bounds.items()]
    if len(bounds) == 2 and len(set(bounds.values())) == 1:
        limits = [f"{bounds['at least']}"]
    if first["type"].startswith("finite"):
        wanted = " and ".join(["must be finite", *limits])
    elif first["type"].startswith(("greater", "less")) and limits:
        wanted = f"must be {' and '.join(limits)}"
    else:
        choices = (_WORDS.get(each, str(each)) for each in _choices(field))
        wanted = f"expected {' or '.join(choices)}"
    return f"{key}={value}: {wanted} ({meanings(schema)[key]})"


def _check(settings: RunSettings) -> None:
    if settings.optimizer != "sgd" and settings.momentum:
        raise SettingsError(
            f"momentum={settings.momentum}: {settings.optimizer} has no such setting"
        )
    for key, value in settings.model_dump().items():
        if isinstance(value, int) and value >= 2**63:
            raise SettingsError(f"{key}={value}: must be below 2^63")
        if key in ("data", "output") and not value:
            raise SettingsError(f"{key}=: the name is empty")
    if settings.validation > 0.9:
        raise SettingsError(
            f"validation={settings.validation:g}: that leaves less than a tenth to "
            "train on; 0.1 holds out a tenth"
        )
    if 0 < settings.memory < settings.domains:
        raise SettingsError(
            f"memory={settings.memory}: too small for one sample of each of "
            f"{settings.domains} domains"
        )

"""The settings of a run: typed, with limits and a line of meaning each.

A method or a benchmark adds settings by a class of its own that inherits from
:class:`RunSettings`. The settings of a run are those of every run, of its benchmark and
of its method together, see :func:`settings_class`. Loads neither torch nor Avalanche,
so that the command line answers at once.
"""

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from udil_avalanche.errors import SettingsError


class Role(Enum):
    """What a setting changes. Written into its annotation; METHOD if none is.

    Where the run writes its files does not change its result::

        output: Annotated[str, Role.PLACE] = "runs"
    """

    TASK = "what is learned"
    METHOD = "how it is learned"
    PLACE = "only where and how fast it runs"


@dataclass(frozen=True)
class Was:
    """An earlier name of a setting, the oldest first. Old files may use it, and a run's
    identity keeps the oldest, so that runs made under it are found again.

    The setting was called ``check`` before::

        verify_images: Annotated[bool, Role.PLACE, Was("check")] = True

    :param name: the earlier name.
    """

    name: str


@dataclass(frozen=True)
class Before:
    """What runs had before a setting was added, where that is not its default. It goes
    for runs that do not know the setting, and a run's identity leaves it out.

    Runs made before the setting existed did what ``False`` does today::

        standardise: Annotated[bool, Before(False)] = True

    :param value: the value that gives what earlier versions did.
    """

    value: Any


FIRST_SEED_FOR_CHOOSING = 100
"""Seeds from here on are for choosing settings and are never reported."""


class RunSettings(BaseModel):
    """What every run has.

    :func:`~udil_avalanche.resolve` makes the settings of a run. A method or a benchmark
    adds its own by a subclass; :doc:`/add_a_method` shows one.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        coerce_numbers_to_str=True,
        use_attribute_docstrings=True,
    )

    strategy: str = ""
    """how to learn; see --list"""
    benchmark: str = ""
    """what to learn; see --list"""
    memory: int = Field(400, ge=0)
    """samples kept of all past domains together"""
    seed: int = Field(0, ge=0, lt=2**32)
    """every random draw follows from it: data, initial weights, order of the batches"""
    epochs: int = Field(1, ge=1)
    """passes over the training data of each domain"""
    domains: Annotated[int, Role.TASK] = Field(20, ge=1)
    """number of domains"""
    train_per_domain: int | None = Field(None, ge=1)
    """training samples of each domain; null: all that the benchmark has"""
    batch_size: int = Field(128, ge=1)
    """samples of the current domain in a step"""
    eval_batch_size: int = Field(1000, ge=1)
    """samples in a batch of the evaluation"""
    optimizer: Literal["adam", "sgd"] = "sgd"
    """optimizer of the model: adam or sgd"""
    lr: float = Field(0.5, gt=0)
    """learning rate of the model"""
    momentum: float = Field(0.0, ge=0, lt=1)
    """momentum of sgd"""
    weight_decay: float = Field(0.0, ge=0)
    """weight decay of the model's optimizer"""
    clip_norm: float | None = Field(1.0, gt=0)
    """clip the model's gradient to this norm in every step; null: never"""
    anneal: float = Field(0.1, ge=0, le=1)
    """share of each domain's steps, its last ones, over which the learning rate falls
    to a tenth"""
    average: float = Field(0.0, ge=0, lt=1)
    """decay of an average of the model's weights over the steps, which is evaluated and
    saved in the model's place; 0: no average"""
    hidden: int = Field(800, ge=1)
    """width of the model's hidden layers"""
    validation: float = Field(0.0, ge=0, lt=1)
    """share of every training domain that is held out and tested on instead of the
    test set: for choosing settings"""
    test_all_domains: bool = False
    """test after each domain on all domains; otherwise on those learned so far and the
    next, which is all that the paper's metrics read"""
    test_every: int = Field(1, ge=1)
    """test on all domains so far after every so many domains, and after the last;
    after the others only on the newest and the next. Above 1, forgetting and the
    average over time are not known"""
    device: Annotated[str, Role.PLACE] = "cpu"
    """where to compute: cpu, cuda, cuda:1, mps"""
    threads: Annotated[int | None, Role.PLACE] = Field(None, ge=1)
    """threads that torch computes with; null: torch decides"""
    save_every: Annotated[float, Role.PLACE] = Field(60.0, ge=0)
    """seconds between two saved states within a domain; one more is saved after each
    domain"""
    output: Annotated[str, Role.PLACE] = "runs"
    """folder for the run folders"""
    data: Annotated[str, Role.PLACE] = "data"
    """folder for the datasets"""


class NoMemorySettings(RunSettings):
    """What the methods without a memory share.

    :doc:`/add_a_method` has a method whose settings inherit from it.
    """

    memory: int = Field(0, ge=0, le=0)
    """this strategy keeps no samples"""


def role_of(field: FieldInfo) -> Role:
    """What a setting changes.

    :param field: its entry in ``model_fields``.
    """
    found = [each for each in field.metadata if isinstance(each, Role)]
    return found[-1] if found else Role.METHOD


def all_names(name: str, field: FieldInfo) -> list[str]:
    """The names that a setting has had, the oldest first and today's last.

    :param name: its name today.
    :param field: its entry in ``model_fields``.
    """
    earlier = [each.name for each in field.metadata if isinstance(each, Was)]
    return [*earlier, name]


def value_before(field: FieldInfo) -> Any:
    """What runs had before a setting was added: its default, unless it says otherwise.

    :param field: its entry in ``model_fields``.
    """
    earlier = [each.value for each in field.metadata if isinstance(each, Before)]
    return earlier[-1] if earlier else field.default


def names_with(role: Role, settings: type[RunSettings]) -> set[str]:
    """The settings with a role.

    :param role: the role.
    :param settings: the class of the settings.
    """
    fields = settings.model_fields.items()
    return {name for name, field in fields if role_of(field) is role}


def own_settings(settings: type[RunSettings]) -> dict[str, FieldInfo]:
    """The settings that a class adds to those of every run, or redefines.

    :param settings: the class.
    """
    names = {
        name: None
        for base in reversed(settings.__mro__)
        if issubclass(base, RunSettings) and base is not RunSettings
        for name in inspect.get_annotations(base)
        if name in settings.model_fields
    }
    return {name: settings.model_fields[name] for name in names}


def settings_class(
    name: str,
    benchmark: type[RunSettings],
    method: type[RunSettings],
    defaults: Mapping[str, Any],
) -> type[RunSettings]:
    """The class with all settings of a method on a benchmark.

    Where both redefine a setting that every run has, the method's definition counts.

    :param name: what to call it in messages.
    :param benchmark: the benchmark's settings.
    :param method: the method's settings.
    :param defaults: defaults that the benchmark wants for settings of every run or of
        the method, if it has them. What the method redefines stays.
    :raises SettingsError: if method and benchmark add a setting of the same name.
    """
    of_method = own_settings(method)
    both = own_settings(benchmark).keys() & of_method.keys() - RunSettings.model_fields
    if both:
        raise SettingsError(
            f"{name}: the method and the benchmark both have a setting "
            f"{', '.join(sorted(both))}; one of them needs another name"
        )
    fields = {**RunSettings.model_fields, **own_settings(benchmark), **of_method}
    for key, default in defaults.items():
        redefined = key in of_method and key in RunSettings.model_fields
        if key in fields and not redefined:
            fields[key] = copy(fields[key])
            fields[key].default = default
    definitions: dict[str, Any] = {
        key: (field.annotation, field) for key, field in fields.items()
    }
    return create_model(name, __base__=RunSettings, **definitions)


def meanings(settings: type[RunSettings]) -> dict[str, str]:
    """The line of meaning of every setting.

    :param settings: the class of the settings.
    """
    return {
        name: " ".join((field.description or "").split())
        for name, field in settings.model_fields.items()
    }


def arguments(function: Callable[..., Any], settings: RunSettings) -> dict[str, Any]:
    """The settings that a function has parameters of the same names for; a parameter
    ``root`` gets the data folder. Those that are null are left to the function's own
    defaults.

    :param function: a function or a class.
    :param settings: the settings of a run.
    """
    values = {**as_dict(settings), "root": settings.data}
    names = inspect.signature(function).parameters
    return {name: values[name] for name in names if values.get(name) is not None}


def as_dict(settings: RunSettings) -> dict[str, Any]:
    """The settings by name."""
    return settings.model_dump()

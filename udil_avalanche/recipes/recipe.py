"""What a method and a benchmark are to the rest of the package.

A recipe says what there is to set and how to build the thing from its settings. It
loads neither torch nor Avalanche until something is built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from udil_avalanche.recipes.settings import NoMemorySettings, RunSettings
from udil_avalanche.recipes.types import (
    BasePlugin,
    ClosedFormHead,
    DomainScenario,
    Module,
    SupervisedTemplate,
    Training,
)


@dataclass(frozen=True)
class MethodRecipe:
    """A method: its settings, and how it is built.

    :doc:`/add_a_method` builds one from beginning to end.

    :param name: what it is called on the command line and in tables.
    :param settings: what it adds to the settings of every run; the first line of the
        docstring is what ``--list`` shows.
    :param build: makes the strategy from the settings and what all methods share.
    :param is_joint: whether it trains on all domains at once.
    :param build_head: for a method that computes a classifier on fixed features: makes
        it from the settings, the number of features and the number of classes. The
        model is then made of the benchmark's features and this classifier.
    """

    name: str
    settings: type[RunSettings]
    build: Callable[[Any, Training], SupervisedTemplate]
    is_joint: bool = False
    build_head: Callable[[Any, int, int], ClosedFormHead] | None = None

    @property
    def has_memory(self) -> bool:
        """Whether it keeps samples of past domains."""
        return not issubclass(self.settings, NoMemorySettings)


def _inputs_themselves(settings: RunSettings, benchmark: DomainScenario) -> Module:
    from torch import nn

    return nn.Sequential(nn.Flatten())


@dataclass(frozen=True)
class BenchmarkRecipe:
    """A benchmark: its settings, and how its domains and its model are built.

    :doc:`/add_a_benchmark` builds one from beginning to end.

    :param name: what it is called on the command line.
    :param title: what it is called in tables and pictures.
    :param settings: what it adds to the settings of every run; the first line of the
        docstring is what ``--list`` shows.
    :param build: makes the domains.
    :param build_model: makes the model, with new weights.
    :param data: the names of its data, as a scenario gives them. Runs on any other data
        are reported apart; so are all runs if there is none.
    :param defaults: defaults that it wants for settings of every run or of a method.
    :param defaults_with: defaults that it wants instead where a setting that is true or
        false is true, by the name of that setting.
    :param plugins: what every strategy needs on it, such as a loader of images.
    :param build_features: makes the part of the model that is never trained, one row of
        features per input; by default the inputs themselves.
    """

    name: str
    title: str
    settings: type[RunSettings]
    build: Callable[[Any], DomainScenario]
    build_model: Callable[[Any, DomainScenario], Module]
    data: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    defaults_with: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plugins: Callable[[Any], list[BasePlugin]] = lambda settings: []
    build_features: Callable[[Any, DomainScenario], Module] = _inputs_themselves


Recipe = MethodRecipe | BenchmarkRecipe
"""A method or a benchmark."""


def summary(recipe: Recipe) -> str:
    """A method or a benchmark in a line."""
    return (recipe.settings.__doc__ or "").partition("\n")[0]

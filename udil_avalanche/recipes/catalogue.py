"""All methods and benchmarks.

To add one, write its recipe and put it into the list below. A package of somebody
else's adds one without a fork, by an entry point of the group
``udil_avalanche.methods`` or ``udil_avalanche.benchmarks`` that names the recipe.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points
from typing import TypeVar

from udil_avalanche.recipes.benchmarks.arrays import ARRAYS
from udil_avalanche.recipes.benchmarks.folders import FOLDERS
from udil_avalanche.recipes.benchmarks.hd_balls import HD_BALLS
from udil_avalanche.recipes.benchmarks.mixed_mnist import MIXED_MNIST
from udil_avalanche.recipes.benchmarks.permuted_mnist import PERMUTED_MNIST
from udil_avalanche.recipes.benchmarks.rotated_fashion_mnist import (
    ROTATED_FASHION_MNIST,
)
from udil_avalanche.recipes.benchmarks.rotated_mnist import ROTATED_MNIST
from udil_avalanche.recipes.benchmarks.seq_core50 import SEQ_CORE50
from udil_avalanche.recipes.methods.agem import AGEM
from udil_avalanche.recipes.methods.cls_er import CLS_ER
from udil_avalanche.recipes.methods.der import DER
from udil_avalanche.recipes.methods.er import ER
from udil_avalanche.recipes.methods.esm_er import ESM_ER
from udil_avalanche.recipes.methods.fine_tune import FINE_TUNE
from udil_avalanche.recipes.methods.gem import GEM
from udil_avalanche.recipes.methods.joint import JOINT
from udil_avalanche.recipes.methods.lwf import LWF
from udil_avalanche.recipes.methods.ncm import NCM
from udil_avalanche.recipes.methods.oewc import OEWC
from udil_avalanche.recipes.methods.ridge import RIDGE
from udil_avalanche.recipes.methods.si import SI
from udil_avalanche.recipes.methods.slda import SLDA
from udil_avalanche.recipes.methods.udil import UDIL
from udil_avalanche.recipes.names import plain_name
from udil_avalanche.recipes.recipe import BenchmarkRecipe, MethodRecipe, Recipe

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe)


class RecipeWarning(UserWarning):
    """A recipe of another package that cannot be used."""


class Catalogue(Mapping[str, AnyRecipe]):
    """Recipes by name: ours, then those of other packages. The others are loaded when
    somebody first looks, so that they may import this package themselves.

    :param kind: what the recipes are.
    :param group: the group of entry points that names recipes of other packages.
    :param own: our recipes.
    """

    def __init__(self, kind: type[AnyRecipe], group: str, own: list[AnyRecipe]) -> None:
        self._kind = kind
        self._group = group
        self._own = own

    def __getitem__(self, name: str) -> AnyRecipe:
        return self._recipes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)

    @cached_property
    def _recipes(self) -> dict[str, AnyRecipe]:
        found = {recipe.name: recipe for recipe in self._own}
        for entry in entry_points(group=self._group):
            try:
                recipe = self._checked(entry.load(), found)
            except Exception as error:  # Whatever a foreign module raises.
                # Named by the entry, since a line of this file would say nothing.
                warnings.warn_explicit(
                    f"{self._group}: left out: {error}",
                    RecipeWarning,
                    filename=entry.value,
                    lineno=1,
                )
            else:
                found[recipe.name] = recipe
        return found

    def _checked(self, recipe: AnyRecipe, found: Iterable[str]) -> AnyRecipe:
        if not isinstance(recipe, self._kind):
            raise TypeError(f"it is not a {self._kind.__name__}")
        # The name becomes part of folder names.
        if not re.fullmatch(r"[\w+.-]+", recipe.name):
            raise ValueError(f"{recipe.name!r}: use letters, digits, + . _ and -")
        if plain_name(recipe.name) in map(plain_name, found):
            raise ValueError(f"there is a {recipe.name} already")
        return recipe


METHODS = Catalogue(
    MethodRecipe,
    "udil_avalanche.methods",
    [
        *(UDIL, FINE_TUNE, OEWC, SI, LWF, GEM, AGEM, ER, DER, CLS_ER, ESM_ER),
        *(NCM, SLDA, RIDGE, JOINT),
    ],
)
"""All methods by name, those of other packages too: ``METHODS["DER++"].settings`` is
the class of its settings. See :doc:`/add_a_method`."""

BENCHMARKS = Catalogue(
    BenchmarkRecipe,
    "udil_avalanche.benchmarks",
    [
        HD_BALLS,
        PERMUTED_MNIST,
        ROTATED_MNIST,
        MIXED_MNIST,
        ROTATED_FASHION_MNIST,
        SEQ_CORE50,
        FOLDERS,
        ARRAYS,
    ],
)
"""All benchmarks by name, those of other packages too. See :doc:`/add_a_benchmark`."""

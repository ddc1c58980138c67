"""All methods and benchmarks.

To add one, write its recipe and put it into the list below. A package of somebody
else's adds one without a fork, by an entry point of the group
``udil_avalanche.methods`` or ``udil_avalanche.benchmarks`` that names the recipe.
"""

import warnings
from importlib.metadata import entry_points
from typing import TypeVar

from udil_avalanche.recipes.benchmarks.arrays import ARRAYS
from udil_avalanche.recipes.benchmarks.folders import FOLDERS
from udil_avalanche.recipes.benchmarks.hd_balls import HD_BALLS
from udil_avalanche.recipes.benchmarks.permuted_mnist import PERMUTED_MNIST
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
from udil_avalanche.recipes.methods.oewc import OEWC
from udil_avalanche.recipes.methods.si import SI
from udil_avalanche.recipes.methods.udil import UDIL
from udil_avalanche.recipes.recipe import BenchmarkRecipe, MethodRecipe

Recipe = TypeVar("Recipe", MethodRecipe, BenchmarkRecipe)


class RecipeWarning(UserWarning):
    """A recipe of another package that cannot be used."""


def _with_entry_points(
    kind: type[Recipe], group: str, own: list[Recipe]
) -> dict[str, Recipe]:
    """Our recipes by name, and those of other packages.

    :param kind: what the recipes are.
    :param group: the group of entry points.
    :param own: our recipes.
    """
    found = {recipe.name: recipe for recipe in own}
    for entry in entry_points(group=group):
        try:
            recipe = entry.load()
            if not isinstance(recipe, kind):
                raise TypeError(f"it is no {kind.__name__}")
            if recipe.name in found:
                raise ValueError(f"there is a {recipe.name} already")
        except Exception as error:  # Whatever a foreign module raises.
            warnings.warn(
                f"{entry.value} ({group}) is left out: {error}",
                RecipeWarning,
                stacklevel=2,
            )
        else:
            found[recipe.name] = recipe
    return found


METHODS = _with_entry_points(
    MethodRecipe,
    "udil_avalanche.methods",
    [
        UDIL,
        FINE_TUNE,
        OEWC,
        SI,
        LWF,
        GEM,
        AGEM,
        ER,
        DER,
        CLS_ER,
        ESM_ER,
        JOINT,
    ],
)
"""All methods by name."""

BENCHMARKS = _with_entry_points(
    BenchmarkRecipe,
    "udil_avalanche.benchmarks",
    [HD_BALLS, PERMUTED_MNIST, ROTATED_MNIST, SEQ_CORE50, FOLDERS, ARRAYS],
)
"""All benchmarks by name."""

"""Arrays."""

from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role, RunSettings, Was, arguments
from udil_avalanche.recipes.types import DomainScenario


class ArraysSettings(RunSettings):
    """Your own arrays: one DATA/<domain>.npz for each domain, with x and y."""

    data: Annotated[str, Role.TASK] = "data"
    """folder with the arrays"""
    domains: Annotated[int, Role.TASK] = Field(0, ge=0)
    """number of domains, the first ones in their order; 0: all"""
    order: Annotated[str | None, Role.TASK] = None
    """names of the domains, in the order to learn them, separated by commas; null: all,
    in natural order"""
    test_share: Annotated[float, Role.TASK] = Field(0.2, gt=0, lt=1)
    """share of each domain that is held out for testing, unless a file has x_test and
    y_test"""
    stratified: Annotated[bool, Role.TASK] = False
    """hold the same share out of every class instead of out of the whole domain"""
    skip_invalid: Annotated[bool, Role.TASK, Was("skip_bad")] = False
    """leave out rows with numbers that are not finite and test samples of unknown
    classes, and count them, instead of refusing them"""


def _build(settings: ArraysSettings) -> DomainScenario:
    from udil_avalanche.benchmarks import arrays

    return arrays(settings.data, **arguments(arrays, settings))


ARRAYS = BenchmarkRecipe(
    "arrays",
    "arrays",
    ArraysSettings,
    _build,
    build_perceptron,
    defaults={
        "epochs": 10,
        "batch_size": 64,
        "optimizer": "adam",
        "lr": 1e-3,
        "memory_batch": 64,
    },
)

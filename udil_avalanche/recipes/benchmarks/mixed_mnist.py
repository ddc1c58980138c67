"""Mixed MNIST."""

from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role, RunSettings, arguments
from udil_avalanche.recipes.types import DomainScenario


class MixedMnistSettings(RunSettings):
    """MNIST, turned in every other domain, its pixels in a new order in the rest."""

    domains: Annotated[int, Role.TASK] = Field(10, ge=1)
    """number of domains"""


def _build(settings: MixedMnistSettings) -> DomainScenario:
    from udil_avalanche.benchmarks import mixed_mnist

    return mixed_mnist(settings.data, **arguments(mixed_mnist, settings))


MIXED_MNIST = BenchmarkRecipe(
    "mixed_mnist",
    "Mixed MNIST",
    MixedMnistSettings,
    _build,
    build_perceptron,
    data=("mnist",),
)

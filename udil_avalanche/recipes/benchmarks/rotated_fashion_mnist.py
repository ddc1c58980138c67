"""Rotated Fashion-MNIST."""

from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role, RunSettings, arguments
from udil_avalanche.recipes.types import DomainScenario


class RotatedFashionMnistSettings(RunSettings):
    """Fashion-MNIST, domain t turned by an angle from [18(t-1), 18t) degrees."""

    domains: Annotated[int, Role.TASK] = Field(10, ge=1)
    """number of domains"""


def _build(settings: RotatedFashionMnistSettings) -> DomainScenario:
    from udil_avalanche.benchmarks import rotated_fashion_mnist

    return rotated_fashion_mnist(
        settings.data, **arguments(rotated_fashion_mnist, settings)
    )


ROTATED_FASHION_MNIST = BenchmarkRecipe(
    "rotated_fashion_mnist",
    "Rotated Fashion-MNIST",
    RotatedFashionMnistSettings,
    _build,
    build_perceptron,
    data=("fashion-mnist",),
)

"""Permuted MNIST."""

from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import RunSettings, arguments
from udil_avalanche.recipes.types import DomainScenario


class PermutedMnistSettings(RunSettings):
    """MNIST, its pixels in another order in every domain."""


def _build(settings: PermutedMnistSettings) -> DomainScenario:
    from udil_avalanche.benchmarks import permuted_mnist

    return permuted_mnist(settings.data, **arguments(permuted_mnist, settings))


PERMUTED_MNIST = BenchmarkRecipe(
    "permuted_mnist",
    "Permuted MNIST",
    PermutedMnistSettings,
    _build,
    build_perceptron,
    data=("mnist",),
)

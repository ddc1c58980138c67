"""Permuted MNIST."""

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import RunSettings


class PermutedMnistSettings(RunSettings):
    """MNIST, its pixels in another order in every domain."""


PERMUTED_MNIST = BenchmarkRecipe(
    "permuted_mnist",
    "Permuted MNIST",
    PermutedMnistSettings,
    build_domains,
    build_perceptron,
    data=("mnist",),
)

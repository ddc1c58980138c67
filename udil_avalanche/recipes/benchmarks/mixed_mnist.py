"""Mixed MNIST."""

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import RunSettings


class MixedMnistSettings(RunSettings):
    """MNIST, turned in every other domain, its pixels in a new order in the rest."""


MIXED_MNIST = BenchmarkRecipe(
    "mixed_mnist",
    "Mixed MNIST",
    MixedMnistSettings,
    build_domains,
    build_perceptron,
    data=("mnist",),
    defaults={"domains": 10},
)

"""Rotated Fashion-MNIST."""

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import RunSettings


class RotatedFashionMnistSettings(RunSettings):
    """Fashion-MNIST, domain t turned by an angle from [18(t-1), 18t) degrees."""


ROTATED_FASHION_MNIST = BenchmarkRecipe(
    "rotated_fashion_mnist",
    "Rotated Fashion-MNIST",
    RotatedFashionMnistSettings,
    build_domains,
    build_perceptron,
    data=("fashion-mnist",),
    defaults={"domains": 10},
)

"""Rotated MNIST."""

from typing import Annotated

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role, RunSettings


class RotatedMnistSettings(RunSettings):
    """MNIST, domain t turned by an angle from [9(t-1), 9t) degrees."""

    per_image_angles: Annotated[bool, Role.TASK] = False
    """draw an angle for every image instead of one for the whole domain"""


ROTATED_MNIST = BenchmarkRecipe(
    "rotated_mnist",
    "Rotated MNIST",
    RotatedMnistSettings,
    build_domains,
    build_perceptron,
    data=("mnist",),
)

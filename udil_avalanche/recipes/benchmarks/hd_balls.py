"""HD-Balls."""

from typing import Annotated, Literal

from pydantic import Field

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role, RunSettings
from udil_avalanche.recipes.types import DomainScenario, Module


class HDBallsSettings(RunSettings):
    """High-dimensional Gaussian balls; the two halves of each are the classes."""

    dimensions: Annotated[int, Role.TASK] = Field(100, ge=2)
    """dimensions of the space"""
    sigma: Annotated[float, Role.TASK] = Field(0.2, gt=0)
    """standard deviation of a ball in every dimension"""
    test_per_domain: Annotated[int, Role.TASK] = Field(2000, ge=1)
    """test samples of each domain"""
    network: Literal["shallow", "cida"] = "shallow"
    """two hidden layers, or the eight layers of CIDA's circle"""


def _build_model(settings: HDBallsSettings, benchmark: DomainScenario) -> Module:
    if settings.network == "shallow":
        return build_perceptron(settings, benchmark)
    from udil_avalanche.models import cida_mlp

    return cida_mlp(settings.dimensions, benchmark.n_classes, settings.hidden)


HD_BALLS = BenchmarkRecipe(
    "hd_balls",
    "HD-Balls",
    HDBallsSettings,
    build_domains,
    _build_model,
    data=("hd_balls",),
    defaults={"epochs": 10},
)

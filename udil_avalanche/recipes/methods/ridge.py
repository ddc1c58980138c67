"""Ridge regression on random features."""

from pydantic import Field

from udil_avalanche.recipes.methods.closed_form import (
    ClosedFormSettings,
    build_closed_form,
)
from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.types import ClosedFormHead


class RidgeSettings(ClosedFormSettings):
    """Ridge regression on random features; nothing is trained."""

    random_features: int = Field(4000, ge=1)
    """number of random features"""
    ridge: float | None = Field(None, gt=0)
    """penalty of the weights, in units of the random features' mean square; null: the
    one with the least generalised cross-validation error"""


def _head(settings: RidgeSettings, width: int, n_classes: int) -> ClosedFormHead:
    from udil_avalanche.models.heads import RandomRidge

    return RandomRidge(width, n_classes, settings.random_features, settings.ridge)


RIDGE = MethodRecipe("Ridge", RidgeSettings, build_closed_form, build_head=_head)

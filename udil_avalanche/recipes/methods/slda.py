"""Streaming linear discriminant analysis."""

from pydantic import Field

from udil_avalanche.recipes.methods.closed_form import (
    ClosedFormSettings,
    build_closed_form,
)
from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.types import ClosedFormHead


class SLDASettings(ClosedFormSettings):
    """Streaming linear discriminant analysis; nothing is trained."""

    shrinkage: float = Field(0.1, gt=0, le=1)
    """share of a multiple of the identity in the covariance"""


def _head(settings: SLDASettings, width: int, n_classes: int) -> ClosedFormHead:
    from udil_avalanche.models.heads import DiscriminantAnalysis

    return DiscriminantAnalysis(width, n_classes, settings.shrinkage)


SLDA = MethodRecipe("SLDA", SLDASettings, build_closed_form, build_head=_head)

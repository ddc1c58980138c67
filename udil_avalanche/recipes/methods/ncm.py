"""Nearest class mean."""

from udil_avalanche.recipes.methods.closed_form import (
    ClosedFormSettings,
    build_closed_form,
)
from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.types import ClosedFormHead


class NCMSettings(ClosedFormSettings):
    """The class whose mean is nearest; nothing is trained."""


def _head(settings: RunSettings, width: int, n_classes: int) -> ClosedFormHead:
    from udil_avalanche.models.heads import NearestClassMean

    return NearestClassMean(width, n_classes)


NCM = MethodRecipe("NCM", NCMSettings, build_closed_form, build_head=_head)

"""Gradient episodic memory."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class GEMSettings(RunSettings):
    """Gradient episodic memory: no step may raise the loss on any past domain."""

    margin: float = Field(0.5, ge=0)
    """least weight of every past domain's gradient in a step that is corrected"""


def _build(settings: GEMSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import GEMPlugin

    return training.naive(GEMPlugin(settings.memory, margin=settings.margin))


GEM = MethodRecipe("GEM", GEMSettings, _build)

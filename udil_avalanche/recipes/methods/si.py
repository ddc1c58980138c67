"""Synaptic intelligence."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import NoMemorySettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class SISettings(NoMemorySettings):
    """Synaptic intelligence: holds the weights whose movement brought the loss down."""

    c: float = Field(0.1, ge=0)
    """strength of the surrogate loss that holds the weights"""
    xi: float = Field(0.1, gt=0)
    """keeps the importance of a weight that hardly moved finite"""


def _build(settings: SISettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import SynapticIntelligencePlugin

    return training.naive(SynapticIntelligencePlugin(settings.c, settings.xi))


SI = MethodRecipe("SI", SISettings, _build)

"""Averaged gradient episodic memory."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class AGEMSettings(RunSettings):
    """Averaged GEM: no step may raise the average loss on a draw from the memory."""

    memory_batch: int = Field(128, ge=1)
    """samples of the memory whose loss no step may raise"""


def _build(settings: AGEMSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import AGEMPlugin

    return training.naive(
        AGEMPlugin(settings.memory, sample_size=settings.memory_batch)
    )


AGEM = MethodRecipe("A-GEM", AGEMSettings, _build)

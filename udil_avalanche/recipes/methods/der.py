"""Dark experience replay++."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import RunSettings, arguments
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class DERSettings(RunSettings):
    """Dark experience replay++: replays the logits of old samples and their labels."""

    alpha: float = Field(0.5, ge=0)
    """weight of the squared distance to the logits in memory"""
    beta: float = Field(1.0, ge=0)
    """weight of the loss on the labels in memory; at 0 it is DER"""
    memory_batch: int = Field(128, ge=1)
    """samples from the memory for each of the two terms in a step"""
    reservoir: bool = False
    """fill the memory by reservoir sampling instead of evenly over the domains"""


def _build(settings: DERSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import DERPlugin

    der = DERPlugin(
        settings.memory,
        batch_size_mem=settings.memory_batch,
        **arguments(DERPlugin, settings),
    )
    return training.naive(der)


DER = MethodRecipe("DER++", DERSettings, _build)

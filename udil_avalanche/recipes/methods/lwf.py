"""Learning without forgetting."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import NoMemorySettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class LwFSettings(NoMemorySettings):
    """Learning without forgetting: keeps the last model's answers on new samples."""

    alpha: float = Field(1.0, ge=0)
    """weight of the distillation in the loss"""
    temperature: float = Field(2.0, gt=0)
    """softens the answers before they are compared"""


def _build(settings: LwFSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import HistoryModelPlugin, LwFPlugin

    history = HistoryModelPlugin()
    lwf = LwFPlugin(history, alpha=settings.alpha, temperature=settings.temperature)
    return training.naive(history, lwf)


LWF = MethodRecipe("LwF", LwFSettings, _build)

"""Fine-tuning."""

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import NoMemorySettings, RunSettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class FineTuneSettings(NoMemorySettings):
    """Trains on one domain after another and does nothing against forgetting."""


def _build(settings: RunSettings, training: Training) -> SupervisedTemplate:
    return training.naive()


FINE_TUNE = MethodRecipe("Fine-tune", FineTuneSettings, _build)

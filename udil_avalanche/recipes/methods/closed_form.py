"""What the classifiers in closed form share."""

from pydantic import Field

from udil_avalanche.recipes.settings import NoMemorySettings, RunSettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class ClosedFormSettings(NoMemorySettings):
    """What the classifiers in closed form share."""

    epochs: int = Field(1, ge=1)
    """not used: this strategy passes over each domain once"""
    average: float = Field(0.0, ge=0, le=0)
    """this strategy has no steps to average weights over"""


def build_closed_form(settings: RunSettings, training: Training) -> SupervisedTemplate:
    """A strategy that computes the classifier of its model.

    :param settings: the settings of the run.
    :param training: what all methods share. Images are never mirrored: their features
        are what the classifier is computed from.
    """
    from udil_avalanche.strategies import ClosedForm

    return ClosedForm(plugins=training.plugins, **training.arguments)

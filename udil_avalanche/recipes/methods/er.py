"""Experience replay."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.types import (
    BalancedReplayPlugin,
    SupervisedTemplate,
    Training,
)


class ERSettings(RunSettings):
    """Experience replay: every step sees some of the samples in memory as well."""

    memory_batch: int = Field(128, ge=1)
    """samples from the memory in a step"""
    reservoir: bool = False
    """fill the memory by reservoir sampling instead of evenly over the domains"""


def replay_plugin(settings: ERSettings) -> BalancedReplayPlugin:
    """Replay as ER and the methods that build on it do it.

    :param settings: the settings of the run.
    """
    from udil_avalanche import plugins

    return plugins.BalancedReplayPlugin(
        settings.memory, settings.memory_batch, reservoir=settings.reservoir
    )


def _build(settings: ERSettings, training: Training) -> SupervisedTemplate:
    return training.naive(replay_plugin(settings))


ER = MethodRecipe("ER", ERSettings, _build)

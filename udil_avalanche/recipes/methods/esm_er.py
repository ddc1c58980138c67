"""Error sensitivity modulation based experience replay."""

from pydantic import Field

from udil_avalanche.recipes.methods.er import ERSettings, replay_plugin
from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import arguments
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class ESMERSettings(ERSettings):
    """ER that learns less from errors that are unusually large."""

    average: float = Field(0.0, ge=0, le=0)
    """this strategy evaluates an average of its own, see stable_alpha"""
    reg_weight: float = Field(0.15, ge=0)
    """weight of the squared distance to the average's logits on the memory"""
    stable_freq: float = Field(1.0, gt=0, le=1)
    """probability of an update of the average, which is evaluated, in a step"""
    stable_alpha: float = Field(0.99, ge=0, le=1)
    """decay of the average of the model"""
    loss_margin: float = Field(1.5, gt=0)
    """a loss above this many times the running mean counts less"""
    loss_alpha: float = Field(0.99, ge=0, le=1)
    """decay of the running mean of the losses"""
    std_margin: float = Field(1.0, ge=0)
    """losses more than this many deviations above the mini-batch's mean are left out
    of the running mean"""
    warmup: float = Field(0.1, ge=0, le=1)
    """share of the steps on each domain before the running mean follows it"""


def _build(settings: ESMERSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import ESMERPlugin

    replay = replay_plugin(settings)
    criterion = ESMERPlugin(replay, **arguments(ESMERPlugin, settings))
    return training.naive(replay, criterion=criterion)


ESM_ER = MethodRecipe("ESM-ER", ESMERSettings, _build)

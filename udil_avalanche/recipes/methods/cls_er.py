"""Complementary learning system based experience replay."""

from pydantic import Field

from udil_avalanche.recipes.methods.er import ERSettings, replay_plugin
from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import arguments
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class CLSERSettings(ERSettings):
    """ER with a fast and a slow average of the model as its teachers."""

    average: float = Field(0.0, ge=0, le=0)
    """this strategy evaluates an average of its own, see stable_alpha"""
    reg_weight: float = Field(0.15, ge=0)
    """weight of the squared distance to the averages' logits on the memory"""
    stable_freq: float = Field(0.8, gt=0, le=1)
    """probability of an update of the slow average, which is evaluated, in a step"""
    stable_alpha: float = Field(0.99, ge=0, le=1)
    """decay of the slow average"""
    plastic_freq: float = Field(1.0, gt=0, le=1)
    """probability of an update of the fast average in a step"""
    plastic_alpha: float = Field(0.95, ge=0, le=1)
    """decay of the fast average"""


def _build(settings: CLSERSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import CLSERPlugin

    replay = replay_plugin(settings)
    cls_er = CLSERPlugin(replay, **arguments(CLSERPlugin, settings))
    return training.naive(replay, cls_er)


CLS_ER = MethodRecipe("CLS-ER", CLSERSettings, _build)

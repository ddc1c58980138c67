"""Joint training."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import NoMemorySettings
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class JointSettings(NoMemorySettings):
    """The oracle: trains on all domains at once; epochs are passes over all of them."""

    memory: int = Field(0, ge=0, le=0)
    """joint training needs no memory: it has all samples of all domains at once"""


def _build(settings: JointSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.strategies import Joint

    return Joint(plugins=training.shared_plugins, **training.arguments)


JOINT = MethodRecipe("Joint", JointSettings, _build, is_joint=True)

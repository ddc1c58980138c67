"""Online elastic weight consolidation."""

from pydantic import Field

from udil_avalanche.recipes.recipe import MethodRecipe
from udil_avalanche.recipes.settings import NoMemorySettings, arguments
from udil_avalanche.recipes.types import SupervisedTemplate, Training


class OEWCSettings(NoMemorySettings):
    """Online elastic weight consolidation: holds the weights that the past needs."""

    ewc_lambda: float = Field(1.0, ge=0)
    """lambda, weight of the penalty; sgd diverges if lr * ewc_lambda is too large"""
    gamma: float = Field(1.0, ge=0, le=1)
    """what is left of the past domains' Fisher information at each new domain"""
    fisher_samples: int | None = Field(None, ge=1)
    """random samples of a domain for its Fisher information; null: all"""


def _build(settings: OEWCSettings, training: Training) -> SupervisedTemplate:
    from udil_avalanche.plugins import OnlineEWCPlugin

    ewc = OnlineEWCPlugin(
        n_samples=settings.fisher_samples, **arguments(OnlineEWCPlugin, settings)
    )
    return training.naive(ewc)


OEWC = MethodRecipe("oEWC", OEWCSettings, _build)

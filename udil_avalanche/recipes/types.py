"""What the recipes' signatures name. Only the type checker sees the real types: they
would load torch."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from avalanche.core import BasePlugin
    from avalanche.training.templates import SupervisedTemplate
    from torch.nn import Module

    from udil_avalanche.data import DomainScenario
    from udil_avalanche.models import EncoderPredictor
    from udil_avalanche.plugins import BalancedReplayPlugin
    from udil_avalanche.recipes.training import Training
else:
    BalancedReplayPlugin = BasePlugin = DomainScenario = EncoderPredictor = Any
    Module = SupervisedTemplate = Training = Any

__all__ = [
    "BalancedReplayPlugin",
    "BasePlugin",
    "DomainScenario",
    "EncoderPredictor",
    "Module",
    "SupervisedTemplate",
    "Training",
]

"""What the recipes' signatures name. Only the type checker sees the real types: they
would load torch."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from avalanche.core import BasePlugin as BasePlugin
    from avalanche.training.templates import SupervisedTemplate as SupervisedTemplate
    from torch import Tensor as Tensor
    from torch.nn import Module as Module

    from udil_avalanche.benchmarks.features import FrozenFeatures as FrozenFeatures
    from udil_avalanche.data import DomainScenario as DomainScenario
    from udil_avalanche.models import EncoderPredictor as EncoderPredictor
    from udil_avalanche.models.backbones import Backbone as Backbone
    from udil_avalanche.models.heads import ClosedFormHead as ClosedFormHead
    from udil_avalanche.models.image_input import Normalisation as Normalisation
    from udil_avalanche.plugins import BalancedReplayPlugin as BalancedReplayPlugin
    from udil_avalanche.recipes.training import Training as Training
else:
    Backbone = BalancedReplayPlugin = BasePlugin = ClosedFormHead = Any
    DomainScenario = EncoderPredictor = FrozenFeatures = Module = Any
    Normalisation = Any
    SupervisedTemplate = Tensor = Training = Any


class DataShapes(Protocol):
    """What a model has to know about the data; a ``DomainScenario`` has it."""

    @property
    def input_shape(self) -> tuple[int, ...]: ...

    @property
    def n_classes(self) -> int: ...

"""A limit to the length of a step."""

from typing import Any

from avalanche.training.plugins import SupervisedPlugin
from torch.nn.utils import clip_grad_norm_


class GradientClippingPlugin(SupervisedPlugin):
    """Scales the model's gradient down where its norm is larger than a limit.

    With the large steps that SGD wants on some benchmarks, a single mini-batch of a new
    domain can otherwise throw the model out of what it has learned.

    :param max_norm: the largest norm that a gradient keeps.
    """

    def __init__(self, max_norm: float) -> None:
        super().__init__()
        self.max_norm = max_norm

    def before_update(self, strategy: Any, **kwargs: Any) -> None:
        """Clip the gradient of all parameters together."""
        clip_grad_norm_(strategy.model.parameters(), self.max_norm)


__all__ = ["GradientClippingPlugin"]

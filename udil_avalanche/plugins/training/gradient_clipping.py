"""A limit to the norm of the gradient."""

from typing import Any

from torch.nn.utils import clip_grad_norm_

from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class GradientClippingPlugin(Plugin):
    """Scales the model's gradient down if its norm is above a limit.

    With the large steps that SGD needs on some benchmarks, a single mini-batch of a new
    domain can otherwise destroy what the model has learned.

    In any strategy of Avalanche::

        strategy = Naive(
            model=model, optimizer=optimizer, plugins=[GradientClippingPlugin(1.0)]
        )

    :param max_norm: the largest norm that is left unchanged.
    """

    def __init__(self, max_norm: float) -> None:
        super().__init__()
        self.max_norm = max_norm

    def before_update(self, strategy: Strategy, **kwargs: Any) -> None:
        """Clip the gradient of all parameters together."""
        clip_grad_norm_(strategy.model.parameters(), self.max_norm)

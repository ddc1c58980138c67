"""The supervised contrastive loss: equation (V_s)."""

from typing import Any

from udil_avalanche.losses import spread, supcon_loss
from udil_avalanche.plugins.shared.encoder_plugin import EncoderPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


class SupConPlugin(EncoderPlugin):
    """Pulls embeddings of one class together and pushes classes apart, whatever their
    domains, from the first domain on.

    :param lambda_s: weight in the model's loss.
    :param temperature: divides the squared distances; the paper's formula has 1.
    :param relative: the temperature is a share of the mini-batch's
        :func:`~udil_avalanche.losses.spread`, so that it means the same for any
        network.
    :param encoder: name of the model's sub-module that is its encoder.
    """

    def __init__(
        self,
        *,
        lambda_s: float = 1.0,
        temperature: float = 1.0,
        relative: bool = False,
        encoder: str = "encoder",
    ) -> None:
        super().__init__(encoder)
        self.lambda_s = lambda_s
        self.temperature = temperature
        self.relative = relative

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add lambda_s V_s to the model's loss."""
        unit = spread(self.embeddings) if self.relative else 1.0
        loss = supcon_loss(self.embeddings, strategy.mb_y, self.temperature * unit)
        strategy.loss += self.lambda_s * loss
        self.terms = {"V_s": loss.detach()}

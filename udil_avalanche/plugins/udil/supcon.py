"""The supervised contrastive loss: equation (V_s)."""

from typing import Any

from udil_avalanche.losses import spread, supcon_loss
from udil_avalanche.plugins.shared.encoder_plugin import EncoderPlugin
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin


class SupConPlugin(EncoderPlugin):
    """Pulls embeddings of one class together and pushes classes apart, whatever their
    domains, from the first domain on.

    :param lambda_s: weight in the model's loss.
    :param temperature: divides the squared distances; the paper's formula has 1.
    :param relative: the temperature is a share of the mini-batch's
        :func:`~udil_avalanche.losses.spread`, so that it means the same for any
        network.
    :param current_only: the replay plugin of the strategy, to compare only the samples
        of the current domain and leave out those that it has appended from the memory.
        Pulling the same few samples together in every step teaches their noise.
    :param encoder: name of the model's sub-module that is its encoder.
    """

    def __init__(
        self,
        *,
        lambda_s: float = 1.0,
        temperature: float = 1.0,
        relative: bool = False,
        current_only: BalancedReplayPlugin | None = None,
        encoder: str = "encoder",
    ) -> None:
        super().__init__(encoder)
        self.lambda_s = lambda_s
        self.temperature = temperature
        self.relative = relative
        self.current_only = current_only

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add lambda_s V_s to the model's loss."""
        embeddings, labels = self.embeddings, strategy.mb_y
        if self.current_only is not None:
            n = self.current_only.n_current(strategy)
            embeddings, labels = embeddings[:n], labels[:n]
        unit = spread(embeddings) if self.relative else 1.0
        loss = supcon_loss(embeddings, labels, self.temperature * unit)
        strategy.loss += self.lambda_s * loss
        self.terms = {"V_s": loss.detach()}

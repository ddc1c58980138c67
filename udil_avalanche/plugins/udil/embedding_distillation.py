"""Past-embedding distillation: equation (V_p)."""

from typing import Any

from torch import Tensor

from udil_avalanche.losses import (
    embedding_distillation_loss,
    long_stream_weight,
    spread,
)
from udil_avalanche.plugins.shared.checks import require_before
from udil_avalanche.plugins.shared.encoder_plugin import EncoderPlugin
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin


class EmbeddingDistillationPlugin(EncoderPlugin):
    """Keeps the embeddings of the memory near those of the history model.

    :param replay: provides the samples of past domains.
    :param history: the history model, created with the same ``replay``.
    :param lambda_p: weight in the model's loss.
    :param relative: measure distances in units of the memory's
        :func:`~udil_avalanche.losses.spread`, so that one weight suits any network, and
        limit it in long streams, see
        :func:`~udil_avalanche.losses.long_stream_weight`; ``False`` is the paper's
        formula.
    :param encoder: name of the model's sub-module that is its encoder.
    """

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        history: HistoryModelPlugin,
        *,
        lambda_p: float = 1.0,
        relative: bool = False,
        encoder: str = "encoder",
    ) -> None:
        super().__init__(encoder)
        history.require_replay(replay, self)
        self.replay = replay
        self.history = history
        self.lambda_p = lambda_p
        self.relative = relative
        self._unit: Tensor | float = 1.0

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Check that replay and history model come before it, and choose the unit."""
        require_before(strategy, self, self.replay, self.history)
        embeddings = self.history.memory_embeddings
        if self.relative and len(embeddings) > 0:
            self._unit = spread(embeddings)

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add lambda_p V_p to the model's loss."""
        batch = self.replay.batch
        if batch is None:
            self.terms = {}
            return
        n_past = self.replay.memory.n_domains
        loss = embedding_distillation_loss(
            self.embeddings[batch.n_current :],
            self.history.batch_embeddings(batch),
            batch.domains,
            n_past,
            self._unit,
        )
        if self.relative:
            loss = long_stream_weight(n_past) * loss
        strategy.loss += self.lambda_p * loss
        self.terms = {"V_p": loss.detach()}

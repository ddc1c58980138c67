"""The adversarial discriminator: equation (V_d) and the divergence."""

from typing import Any

import torch
from torch import Tensor

from udil_avalanche.losses import (
    discriminator_loss,
    empirical_divergence,
    encoder_alignment_loss,
)
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.plugins.shared.collaborators import (
    require_before,
    require_past_domains_only,
)
from udil_avalanche.plugins.shared.encoder_plugin import EncoderPlugin
from udil_avalanche.plugins.shared.optimizer_state import (
    load_optimizer_state,
    optimizer_state,
)
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin
from udil_avalanche.plugins.udil.omega import AdaptiveOmega


class DiscriminatorPlugin(EncoderPlugin):
    """Aligns the embeddings of all domains by a minimax game: the discriminator d
    learns to tell from e(x) which domain x is from, the encoder learns that it cannot.

    Both sides come from one forward and one backward pass of d, as with a gradient
    reversal layer: d's loss is V_d, and the encoder receives the derivative of
    -lambda_d V_d by the embeddings. The paper's algorithm lets the encoder face d and
    beta after their steps, this one before them; that saves a second pass through d,
    and the two differ by one step in some thousands.

    d and its optimizer live outside the model, whose optimizer would otherwise train d
    as well. With each new domain d gains an output and keeps what it has learned; its
    optimizer starts anew.

    :param replay: where the samples of past domains come from.
    :param lambda_d: weight of the alignment in the model's loss.
    :param lr: learning rate of the discriminator's Adam.
    :param hidden: width of the discriminator's hidden layers.
    :param omega: its beta weighs the past domains; without it, each weighs 1.
    :param encoder: name of the model's sub-module that is its encoder.
    """

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        *,
        lambda_d: float = 1.0,
        lr: float = 1e-4,
        hidden: int = 800,
        omega: AdaptiveOmega | None = None,
        encoder: str = "encoder",
    ) -> None:
        super().__init__(encoder)
        require_past_domains_only(self, replay)
        self.replay = replay
        self.lambda_d = lambda_d
        self.lr = lr
        self.hidden = hidden
        self.omega = omega
        self.network: DomainDiscriminator | None = None
        """d, once a second domain has begun."""
        self.divergence = torch.zeros(0)
        """Empirical divergence between each past domain and the current one, on the
        current mini-batch."""
        self._optimizer: torch.optim.Optimizer | None = None
        self._alignment: tuple[Tensor, Tensor] | None = None

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Make room for the new domain."""
        require_before(strategy, self, self.replay)
        self._optimizer = None

    def after_forward(self, strategy: Any, **kwargs: Any) -> None:
        """The discriminator's step, and the encoder's gradient with it."""
        super().after_forward(strategy, **kwargs)
        batch = self.replay.batch
        if batch is None:
            self.terms = {}
            return
        n_past = self.replay.memory.n_domains
        embeddings = self.embeddings.detach().requires_grad_()
        discriminator, optimizer = self._ready(embeddings, n_past + 1)

        domain_logits = discriminator(embeddings)
        value = discriminator_loss(domain_logits, batch.domains, self._beta(n_past))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()

        assert embeddings.grad is not None
        self._alignment = (value.detach(), embeddings.grad)
        with torch.no_grad():
            self.divergence = empirical_divergence(domain_logits, batch.domains, n_past)
            truth = batch.domains.new_full((len(embeddings),), n_past)
            truth[batch.n_current :] = batch.domains
            accuracy = (domain_logits.argmax(dim=1) == truth).float().mean()
            present = torch.bincount(batch.domains, minlength=n_past) > 0
        self.terms = {
            "V_d": value.detach(),
            "divergence": (self.divergence * present).sum() / present.sum(),
            "discriminator_accuracy": accuracy,
        }

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Add -lambda_d V_d to the model's loss."""
        if self._alignment is not None:
            loss = encoder_alignment_loss(self.embeddings, *self._alignment)
            strategy.loss += self.lambda_d * loss
            self._alignment = None

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Let go of the optimizer, which starts anew in the next domain."""
        self._optimizer = None

    def state_dict(self) -> dict[str, Any]:
        """d, its optimizer, and the divergence that it saw last."""
        state: dict[str, Any] = dict.fromkeys(("discriminator", "optimizer"))
        if self.network is not None:
            state["discriminator"] = self.network.state_dict()
        if self._optimizer is not None:
            state["optimizer"] = optimizer_state(self._optimizer)
        return {**state, "divergence": self.divergence}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.network = self._optimizer = None
        self.divergence = state["divergence"].to(strategy.device)
        weights = state["discriminator"]
        if weights is not None:
            self.network = DomainDiscriminator(
                embedding_size=weights["body.0.weight"].shape[1],
                n_domains=len(weights["head.bias"]),
                hidden=self.hidden,
            ).to(strategy.device)
            self.network.load_state_dict(weights)
        if state["optimizer"] is not None:
            self._optimizer = self._new_optimizer()
            load_optimizer_state(self._optimizer, state["optimizer"])

    def _beta(self, n_past: int) -> Tensor:
        if self.omega is None:
            return torch.ones(n_past, device=self.replay.memory.domains.device)
        return self.omega.values.beta

    def _ready(
        self, embeddings: Tensor, n_domains: int
    ) -> tuple[DomainDiscriminator, torch.optim.Optimizer]:
        if self.network is None:
            self.network = DomainDiscriminator(
                embeddings.shape[1], n_domains, self.hidden
            ).to(embeddings)
        if self._optimizer is None:
            self.network = self.network.grown(n_domains)
            self._optimizer = self._new_optimizer()
        return self.network, self._optimizer

    def _new_optimizer(self) -> torch.optim.Optimizer:
        assert self.network is not None
        parameters = self.network.parameters()
        return torch.optim.Adam(parameters, lr=self.lr, fused=True)


__all__ = ["DiscriminatorPlugin"]

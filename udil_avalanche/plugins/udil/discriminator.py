"""The adversarial discriminator: equation (V_d) and the divergence."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.losses import (
    discriminator_loss,
    empirical_divergence,
    encoder_alignment_loss,
    spread,
)
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.plugins.shared.checks import (
    require_before,
    require_past_domains_only,
)
from udil_avalanche.plugins.shared.encoder_plugin import EncoderPlugin
from udil_avalanche.plugins.shared.optimizer_state import (
    load_optimizer_state,
    optimizer_state,
)
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin
from udil_avalanche.plugins.udil.omega import AdaptiveOmega


class DiscriminatorPlugin(EncoderPlugin):
    """Aligns the embeddings of all domains by a minimax game: the discriminator d
    learns to tell from e(x) which domain x is from, and the encoder learns to prevent
    this.

    Both sides share one forward and one backward pass of d, as with a gradient reversal
    layer: d's loss is V_d, and the encoder receives the derivative of -lambda_d V_d
    with respect to the embeddings. In the paper's algorithm the encoder sees d and beta
    after their steps, here before them. That saves a second pass through d, and the
    difference is one step among thousands.

    d and its optimizer are kept outside the model, whose optimizer would otherwise
    train d as well. With each new domain d gains an output and keeps its weights; its
    optimizer is reset.

    With ``gentle``, five things keep the game from doing harm. d sees the embeddings in
    units of their :func:`~udil_avalanche.losses.spread`, so that ``lambda_d`` means the
    same for any network. It also sees the classes, so that a domain with other shares
    of them need not be moved. Only samples of the current domain are moved, towards the
    past and not the reverse. No sample is pulled by more than a bound. And the pull
    grows from 0 over the steps of a domain, as in DANN, while d is still learning.

    :param replay: provides the samples of past domains.
    :param lambda_d: weight of the alignment in the model's loss.
    :param lr: learning rate of the discriminator's Adam.
    :param hidden: width of the discriminator's hidden layers.
    :param omega: its beta weights the past domains; without it, each has weight 1.
    :param gentle: see above; ``False`` is the paper's formula.
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
        gentle: bool = False,
        encoder: str = "encoder",
    ) -> None:
        super().__init__(encoder)
        require_past_domains_only(self, replay)
        self.replay = replay
        self.lambda_d = lambda_d
        self.lr = lr
        self.hidden = hidden
        self.omega = omega
        self.gentle = gentle
        self._step = 0
        self.network: DomainDiscriminator | None = None
        """d, once a second domain has begun."""
        self.divergence = torch.zeros(0)
        """Empirical divergence between each past domain and the current one, on the
        current mini-batch."""
        self._optimizer: torch.optim.Optimizer | None = None
        self._last_optimizer: torch.optim.Optimizer | None = None
        self._alignment: tuple[Tensor, Tensor] | None = None

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Make room for the new domain."""
        require_before(strategy, self, self.replay)
        if self.replay.domain.goes_on:
            self._optimizer = self._last_optimizer
        else:
            self._optimizer = self._last_optimizer = None
            self._step = 0

    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Take the discriminator's step, and compute the encoder's gradient with it."""
        super().after_forward(strategy, **kwargs)
        batch = self.replay.batch
        if batch is None:
            self.terms = {}
            return
        n_past = self.replay.memory.n_domains
        inputs = self._inputs(strategy) if self.gentle else self.embeddings
        embeddings = inputs.detach().requires_grad_()
        network, optimizer = self._ready(embeddings, n_past + 1)
        equal = torch.ones(n_past, device=embeddings.device)
        beta = equal if self.omega is None else self.omega.values.beta

        domain_logits = network(embeddings)
        value = discriminator_loss(domain_logits, batch.domains, beta)
        optimizer.zero_grad()
        torch.autograd.backward(value)
        optimizer.step()

        assert embeddings.grad is not None
        gradient = embeddings.grad
        if self.gentle:
            gradient = self._softened(gradient, strategy, batch.n_current)
        self._alignment = (value.detach(), gradient)
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

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add -lambda_d V_d to the model's loss."""
        if self._alignment is not None:
            loss = encoder_alignment_loss(self.embeddings, *self._alignment)
            strategy.loss += self.lambda_d * loss
            self._alignment = None

    def _inputs(self, strategy: Strategy) -> Tensor:
        """The embeddings in units of their spread, and the classes."""
        classes = F.one_hot(strategy.mb_y, strategy.mb_output.shape[1])
        e = self.embeddings.detach()
        relative = (e - e.mean(dim=0)) / (spread(e) / e.shape[1]).sqrt()
        return torch.cat([relative, classes.to(relative)], dim=1)

    def _softened(self, gradient: Tensor, strategy: Strategy, n: int) -> Tensor:
        """The derivative by the embeddings, for current samples alone, bounded, and
        growing over the domain."""
        e = self.embeddings.detach()
        by_embedding = gradient[:, : e.shape[1]] / (spread(e) / e.shape[1]).sqrt()
        longest = 1 / (n * spread(e).sqrt())
        lengths = by_embedding.norm(dim=1, keepdim=True).clamp(min=1e-12)
        bounded: Tensor = by_embedding * (longest / lengths).clamp(max=1)
        bounded[n:] = 0
        progress = self._step / (strategy.train_epochs * len(strategy.dataloader))
        self._step += 1
        return bounded.mul_(2 / (1 + math.exp(-10 * progress)) - 1)

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Put the optimizer aside: it is reset for the next domain, and needed again
        only if this one goes on."""
        self._last_optimizer, self._optimizer = self._optimizer, None

    def state_dict(self) -> dict[str, Any]:
        """d, its optimizer, and the last divergence."""
        network, optimizer = self.network, self._optimizer
        return {
            "discriminator": None if network is None else network.state_dict(),
            "optimizer": None if optimizer is None else optimizer_state(optimizer),
            "divergence": self.divergence,
            "step": self._step,
        }

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.network = self._optimizer = self._last_optimizer = None
        self.divergence = state["divergence"].to(strategy.device)
        self._step = state.get("step", 0)
        weights = state["discriminator"]
        if weights is not None:
            inputs, outputs = (
                weights["body.0.weight"].shape[1],
                len(weights["head.bias"]),
            )
            network = DomainDiscriminator(inputs, outputs, self.hidden)
            network.load_state_dict(weights)
            self.network = network.to(strategy.device)
            if state["optimizer"] is not None:
                self._optimizer = self._adam(self.network)
                load_optimizer_state(self._optimizer, state["optimizer"])

    def _ready(
        self, embeddings: Tensor, n_domains: int
    ) -> tuple[DomainDiscriminator, torch.optim.Optimizer]:
        size = embeddings.shape[1]
        if self.network is None or self.network.body[0].in_features != size:
            # With further classes it has other inputs, and starts again.
            network = DomainDiscriminator(size, n_domains, self.hidden)
            self.network = network.to(embeddings)
        if self._optimizer is None:
            self.network = self.network.grown(n_domains)
            self._optimizer = self._adam(self.network)
        return self.network, self._optimizer

    def _adam(self, network: DomainDiscriminator) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.lr, fused=True)

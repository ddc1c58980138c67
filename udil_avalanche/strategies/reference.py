"""Algorithm 1 as a plain loop, without Avalanche: UDIL from top to bottom, in the
paper's letters. ``reference_default.py`` is what the default makes of it.

:class:`~udil_avalanche.strategies.UDIL` does the same with plugins. A test checks that
both give the same weights.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.utils.data import TensorDataset

from udil_avalanche.losses import (
    classification_loss,
    coefficient_gradient,
    discriminator_loss,
    embedding_distillation_loss,
    empirical_divergence,
    encoder_alignment_loss,
    model_loss,
    objective,
    supcon_loss,
)
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import (
    fixed_coefficients,
    softmax_coefficients,
    softmax_gradient,
)
from udil_avalanche.theory.empirical_risk import disagreement, empirical_risks

Losses = tuple[Tensor, Tensor, Tensor, Tensor]
"""V_l, V_d, V_p and V_s."""


@dataclass(kw_only=True)
class Algorithm1:
    """Algorithm 1 of the paper. :class:`~udil_avalanche.strategies.UDIL` explains the
    parameters that are not explained here.

    It keeps to the paper's case, in which every step sees every past domain:
    ``batch_size_mem`` must be at least the number of past domains.
    """

    h: EncoderPredictor
    """The model, h = p o e."""
    memory: BalancedMemory
    """M. It may hold samples of domains that ``h`` has learned before."""
    make_optimizer: Callable[[Iterable[nn.Parameter]], Optimizer]
    """Makes the optimizer of ``h``, a new one for each domain."""
    d: DomainDiscriminator | None = None
    """The discriminator, from the second domain on."""
    epochs: int = 1
    batch_size: int = 128
    batch_size_mem: int = 128
    c: float = 1.0
    lambda_d: float = 0.1
    lambda_p: float = 1.0
    lambda_s: float = 0.01
    cross_domain_threshold: float | None = None
    lr_discriminator: float = 1e-4
    lr_coefficients: float = 2e-3
    hidden_discriminator: int = 800
    fixed: Callable[[int], tuple[float, float, float]] | None = None
    """Fixes (alpha, beta, gamma) as a function of t; learned if ``None``."""
    objective_t_power: float = 0.0
    objective_scale: float = field(default=1.0, init=False)
    """What the objective of the current domain is multiplied by: 1 in the paper."""

    def learn(self, X_t: Tensor, y_t: Tensor) -> Iterator[Tensor]:
        """Learn the next domain t. This is a generator, which takes one step for each
        value that it yields.

        :param X_t: the inputs of the domain's samples S_t.
        :param y_t: their classes.
        :return: the objective before each step.
        """
        t = self.memory.n_domains + 1
        optimizer = self.make_optimizer(self.h.train().parameters())
        losses = self._first(X_t, y_t) if t == 1 else self._later(X_t, y_t, t)
        for V_l, V_d, V_p, V_s in losses:
            loss = objective(
                V_l,
                V_d,
                V_p,
                V_s,
                lambda_d=self.lambda_d,
                lambda_p=self.lambda_p,
                lambda_s=self.lambda_s,
                t=t,
                t_power=self.objective_t_power,
                scale=self.objective_scale,
            )
            _descend(optimizer, loss)  # line 7
            yield loss.detach()
        # Line 9, H_t <- h, is the copy that the next domain begins with.
        self._remember(X_t, y_t)  # line 10

    def _remember(self, X_t: Tensor, y_t: Tensor) -> None:
        self.memory.add_domain(TensorDataset(X_t, y_t), y_t, y_t.device)

    def _batches(self, X_t: Tensor, y_t: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(self.epochs):
            for B_t in torch.split(torch.randperm(len(y_t)), self.batch_size):
                yield X_t[B_t], y_t[B_t]

    def _first(self, X_t: Tensor, y_t: Tensor) -> Iterator[Losses]:
        """The first domain, which Algorithm 1 does not specify: plain training with
        V_s."""
        nothing = torch.zeros(())
        for x, y in self._batches(X_t, y_t):
            embeddings = self.h.encoder(x)
            V_l = classification_loss(self.h.predictor(embeddings), y)
            V_s = supcon_loss(embeddings, y)
            yield V_l, nothing, nothing, V_s

    def _later(self, X_t: Tensor, y_t: Tensor, t: int) -> Iterator[Losses]:
        """Domain t > 1: lines 1 to 7 of Algorithm 1, without the model's step."""
        h, memory, n_past = self.h, self.memory, t - 1

        # Line 1: h starts as H_{t-1}, so H_{t-1} is a frozen copy of h as it is now.
        H = copy.deepcopy(h).eval().requires_grad_(False)
        memory_embeddings = H.encoder(memory.fields[0])
        memory_logits = H.predictor(memory_embeddings)
        wrong = disagreement(memory_logits.argmax(dim=1), memory.labels)
        history_error = empirical_risks(wrong, memory.domains, n_past)

        # Line 2: Omega starts at 1/3 each.
        omega_logits = torch.zeros(n_past, 3, requires_grad=True)
        omega_optimizer = Adam([omega_logits], lr=self.lr_coefficients, fused=True)
        omega = softmax_coefficients(omega_logits.detach())
        if self.fixed is not None:
            omega = fixed_coefficients(self.fixed(t), n_past)

        # d keeps what it has learned and gains an output for domain t.
        size = memory_embeddings.shape[1]
        self.d = d = (
            DomainDiscriminator(size, t, self.hidden_discriminator)
            if self.d is None
            else self.d.grown(t)
        )
        d_optimizer = Adam(d.parameters(), lr=self.lr_discriminator, fused=True)

        for x, y in self._batches(X_t, y_t):
            # Line 4: a mini-batch of all domains, the current one first.
            n = len(y)
            drawn = memory.sample(self.batch_size_mem)
            domains = memory.domains[drawn]
            inputs = torch.cat([x, memory.fields[0].index_select(0, drawn)])
            labels = torch.cat([y, memory.labels[drawn]])
            embeddings = h.encoder(inputs)
            logits = h.predictor(embeddings)
            history_logits = torch.cat([H(x), memory_logits[drawn]])

            # Line 5: the discriminator's step on V_d.
            seen = embeddings.detach().requires_grad_()
            domain_logits = d(seen)
            V_d = discriminator_loss(domain_logits, domains, omega.beta)
            _descend(d_optimizer, V_d)
            assert seen.grad is not None

            # Line 6: Omega's step on V_0-1.
            if self.fixed is None:
                predicted = logits.argmax(dim=1)
                wrong = disagreement(predicted, labels)
                differs = disagreement(predicted, history_logits.argmax(dim=1))
                estimates = BoundEstimates(
                    current_error=wrong[:n].mean(),
                    past_error=empirical_risks(wrong[n:], domains, n_past),
                    current_disagreement=differs[:n].mean(),
                    past_disagreement=empirical_risks(differs[n:], domains, n_past),
                    divergence=empirical_divergence(
                        domain_logits.detach(), domains, n_past
                    ),
                    history_error=history_error,
                    n_current=len(y_t),
                    n_memory=memory.counts,
                )
                gradient = coefficient_gradient(omega, estimates, self.c)
                omega_logits.grad = softmax_gradient(omega, gradient)
                omega_optimizer.step()
                omega = softmax_coefficients(omega_logits.detach())

            # Line 7: the losses of the model's step.
            V_l = model_loss(
                logits=logits,
                labels=labels,
                domains=domains,
                history_logits=history_logits,
                omega=omega,
                cross_domain_threshold=self.cross_domain_threshold,
            ).total
            # V_d once more, now as a function of the encoder.
            V_d = -encoder_alignment_loss(embeddings, V_d, seen.grad)
            V_p = embedding_distillation_loss(
                embeddings[n:], memory_embeddings[drawn], domains, n_past
            )
            V_s = supcon_loss(embeddings, labels)
            yield V_l, V_d, V_p, V_s


def _descend(optimizer: Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()

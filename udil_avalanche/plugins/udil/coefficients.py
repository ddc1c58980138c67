"""The adaptive coefficients: equations (V_0-1) and (V_l)."""

from typing import Any

import torch
from torch import Tensor

from udil_avalanche.losses import (
    classification_loss,
    distillation_loss,
    model_loss,
    multilabel_classification_loss,
    multilabel_distillation_loss,
)
from udil_avalanche.plugins.shared.checks import require_before
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.plugins.shared.stateful import on_device
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin
from udil_avalanche.plugins.udil.discriminator import DiscriminatorPlugin
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin
from udil_avalanche.plugins.udil.omega import AdaptiveOmega
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.empirical_risk import disagreement, empirical_risks

NO_ESTIMATE = 2.0
"""The divergence of domains that were not compared: the largest possible value."""


class AdaptiveCoefficientsPlugin(Plugin):
    """Adapts Omega to the tightest bound and weights the model's loss with it.

    It is both a plugin and a criterion, like Avalanche's ``ICaRLLossPlugin``: give it
    to a strategy as ``criterion=...`` and the strategy minimises V_l, while each
    iteration first takes a step of Omega on V_0-1. In the first domain and in
    evaluation it is the classification loss.

    V_0-1 is estimated on the mini-batch, as the 0-1 errors that it needs change with
    every step. Only the error of H_{t-1} is measured on the whole memory. A past domain
    without samples in a small memory batch keeps its last estimate.

    :param replay: provides the samples of past domains.
    :param history: the history model, created with the same ``replay``.
    :param discriminator: measures the divergence. Without it the divergence is taken
        to be 2, the largest possible value, so that the bound holds.
    :param omega: Omega; the discriminator's should be the same.
    :param c: C, the weight of the generalisation term.
    :param cross_domain_threshold: see :func:`~udil_avalanche.losses.model_loss`.
    :param multilabel: use the multi-label losses, as iCaRL does.
    """

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        history: HistoryModelPlugin,
        discriminator: DiscriminatorPlugin | None = None,
        *,
        omega: AdaptiveOmega | None = None,
        c: float = 1.0,
        cross_domain_threshold: float | None = None,
        multilabel: bool = False,
    ) -> None:
        super().__init__()
        history.require_replay(replay, self)
        self.replay = replay
        self.history = history
        self.discriminator = discriminator
        self.omega = omega or AdaptiveOmega()
        self.c = c
        self.cross_domain_threshold = cross_domain_threshold
        self.classification = (
            multilabel_classification_loss if multilabel else classification_loss
        )
        self.distillation = (
            multilabel_distillation_loss if multilabel else distillation_loss
        )
        self.trajectory: list[Tensor] = []
        """Omega at the end of each domain t >= 2, rows of alpha, beta, gamma."""
        self._estimates: BoundEstimates | None = None
        self._history_logits = torch.zeros(0)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Reset Omega and measure the error of H_{t-1} on the memory."""
        needed = (self.replay, self.history, self.discriminator)
        require_before(strategy, self, *(each for each in needed if each is not None))
        memory = self.replay.memory
        if len(memory) == 0 or self.history.model is None:
            self._estimates = None
            return
        n_past = memory.n_domains
        self.omega.start_domain(n_past, strategy.device)
        predicted = self.history.memory_logits[: len(memory)].argmax(dim=1)
        wrong = disagreement(predicted, memory.labels)
        history_error = empirical_risks(wrong, memory.domains, n_past)
        zero = torch.zeros((), device=strategy.device)
        self._estimates = BoundEstimates(
            current_error=zero,
            past_error=history_error,
            current_disagreement=zero,
            past_disagreement=torch.zeros_like(history_error),
            divergence=torch.full_like(history_error, NO_ESTIMATE),
            history_error=history_error,
            n_current=len(strategy.experience.dataset),
            n_memory=memory.counts,
        )

    @torch.no_grad()
    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Estimate the bound on the mini-batch and take Omega's step."""
        batch, estimates = self.replay.batch, self._estimates
        if batch is None or estimates is None:
            return
        n, n_past = batch.n_current, self.replay.memory.n_domains
        current_logits = self.history.current_logits(strategy, n)
        past_logits = self.history.batch_logits(batch)
        self._history_logits = torch.cat([current_logits, past_logits])

        predicted = strategy.mb_output.argmax(dim=1)
        wrong = disagreement(predicted, strategy.mb_y)
        differs = disagreement(predicted, self._history_logits.argmax(dim=1))
        present = torch.bincount(batch.domains, minlength=n_past) > 0

        def update(previous: Tensor, values: Tensor) -> Tensor:
            return torch.where(present, values.to(previous), previous)

        estimates.current_error = wrong[:n].mean()
        estimates.current_disagreement = differs[:n].mean()
        estimates.past_error = update(
            estimates.past_error, empirical_risks(wrong[n:], batch.domains, n_past)
        )
        estimates.past_disagreement = update(
            estimates.past_disagreement,
            empirical_risks(differs[n:], batch.domains, n_past),
        )
        if self.discriminator is not None:
            estimates.divergence = update(
                estimates.divergence, self.discriminator.divergence
            )
        bound = self.omega.step(estimates, self.c)
        self.terms = {"V_0-1": bound, **_averages(self.omega.values)}

    def __call__(self, mb_output: Tensor, mb_y: Tensor) -> Tensor:
        """V_l on a training mini-batch with memory samples, else the plain loss.

        :param mb_output: logits of the mini-batch.
        :param mb_y: its true classes.
        """
        batch = self.replay.batch
        if batch is None or self._estimates is None:
            return self.classification(mb_output, mb_y)
        loss = model_loss(
            logits=mb_output,
            labels=mb_y,
            domains=batch.domains,
            history_logits=self._history_logits,
            omega=self.omega.values,
            cross_domain_threshold=self.cross_domain_threshold,
            classification=self.classification,
            distillation=self.distillation,
        )
        self.terms["V_l"] = loss.total.detach()
        self.terms |= {
            f"V_l/{name}": value.detach() for name, value in loss._asdict().items()
        }
        return loss.total

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Record Omega's final values."""
        if self._estimates is not None:
            omega = torch.stack(self.omega.values, dim=1)
            self.trajectory.append(omega.cpu())
        self.terms = {}
        self._history_logits = torch.zeros(0)

    def state_dict(self) -> dict[str, Any]:
        """Omega, its final values so far, and the last estimates of the bound."""
        return {
            "coefficients": self.omega.state_dict(),
            "trajectory": self.trajectory,
            "estimates": None if self._estimates is None else vars(self._estimates),
        }

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.omega.load_state_dict(state["coefficients"], strategy.device)
        self.trajectory = list(state["trajectory"])
        estimates = on_device(state["estimates"], strategy.device)
        self._estimates = None if estimates is None else BoundEstimates(**estimates)


def _averages(omega: Omega) -> dict[str, Tensor]:
    return {name: values.mean() for name, values in omega._asdict().items()}

"""The adaptive coefficients: equations (V_0-1) and (V_l)."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from udil_avalanche.losses import (
    classification_loss,
    distillation_loss,
    history_gate,
    known_share,
    model_loss,
    multilabel_classification_loss,
    multilabel_distillation_loss,
    past_scale,
    telling_temperature,
)
from udil_avalanche.models.growing import widened
from udil_avalanche.plugins.shared.checks import require_before, require_one_head
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.plugins.shared.stateful import on_device
from udil_avalanche.plugins.udil.balanced_replay import (
    BalancedReplayPlugin,
    MemoryBatch,
)
from udil_avalanche.plugins.udil.discriminator import DiscriminatorPlugin
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin
from udil_avalanche.plugins.udil.omega import AdaptiveOmega
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.bound_record import bound_record
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.empirical_risk import disagreement, empirical_risks
from udil_avalanche.theory.leave_one_out import leave_one_out_errors
from udil_avalanche.theory.measured_divergence import measured_divergences

NO_ESTIMATE = 2.0
"""The divergence of domains that were not compared: the largest possible value."""

SMOOTHING = 0.1
"""The weight of a mini-batch in estimates that are smoothed."""


class AdaptiveCoefficientsPlugin(Plugin):
    r"""Adapts Omega to the tightest bound and weights the model's loss with it.

    It is both a plugin and a criterion, like Avalanche's ``ICaRLLossPlugin``: give it
    to a strategy as ``criterion=...`` and the strategy minimises V_l, while each
    iteration first takes a step of Omega on V_0-1. In the first domain and in
    evaluation it is the classification loss.

    The quantities in V_0-1 are estimated in one of two ways:

    - ``honest``: the errors of H_{t-1} and the divergences are measured once, when the
      domain begins, on the embeddings of H_{t-1} for the memory and for a large sample
      of the domain (:meth:`HistoryModelPlugin.domain_sample`), leaving each sample out
      (:mod:`~udil_avalanche.theory.leave_one_out`). What h adds to them is smoothed
      over mini-batches. That h will differ from H_{t-1} on the current domain at least
      where H_{t-1} is wrong there is expected from the first step on.
    - as in the paper: from the last mini-batch alone, the error of H_{t-1} on the
      memory that it was trained on, and the discriminator's divergence.

    A past domain without samples in a small memory batch keeps its last estimate.

    If the last domain goes on (see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`), so do Omega
    and the estimates. What is measured when a domain begins is averaged over its parts,
    and it has one entry in :attr:`trajectory` and :attr:`bounds`.

    :param replay: provides the samples of past domains.
    :param history: the history model, created with the same ``replay``.
    :param discriminator: measures the divergence, unless it is ``honest``. Without
        either it is taken to be 2, the largest possible value, so that the bound holds.
    :param omega: Omega; the discriminator's should be the same.
    :param c: C, the weight of the generalisation term; the square root of \|M\| if
        ``None``, for which the term weighs the same for any memory and any t.
    :param honest: how to estimate, see above.
    :param gated: weight the cross-domain term for each sample by
        :func:`~udil_avalanche.losses.history_gate`.
    :param balanced: weigh the past by how much of the current domain is known, see
        :func:`~udil_avalanche.losses.past_scale`.
    :param temperature: of the distillations, see
        :func:`~udil_avalanche.losses.distillation_loss`; the lowest one if ``doubt`` is
        not 0.
    :param doubt: when a domain begins, raise the temperature until the history model's
        answers on the memory leave this share of the probability, on average, to other
        classes than the likeliest, see
        :func:`~udil_avalanche.losses.telling_temperature`; 0: never. One temperature
        serves all distillations of the domain.
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
        c: float | None = 1.0,
        honest: bool = False,
        gated: bool = False,
        balanced: bool = False,
        temperature: float = 1.0,
        doubt: float = 0.0,
        cross_domain_threshold: float | None = None,
        multilabel: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= doubt < 1:
            raise ValueError(f"doubt must be at least 0 and below 1, not {doubt}.")
        history.require_replay(replay, self)
        self.replay = replay
        self.history = history
        self.discriminator = discriminator
        self.omega = omega or AdaptiveOmega()
        self.c = c
        self.honest = honest
        self.gated = gated
        self.balanced = balanced
        self.known = 0.0
        """q, the share of this domain that H_{t-1} knows; 0 unless ``balanced``."""
        self.scale = 1.0
        """What the sums over past domains are multiplied by in this domain."""
        self.cross_domain_threshold = cross_domain_threshold
        self.classification = (
            multilabel_classification_loss if multilabel else classification_loss
        )
        self.multilabel = multilabel
        self.lowest_temperature = temperature
        self.temperature = temperature
        """Of the distillations in this domain."""
        self.doubt = 0.0 if multilabel else doubt
        self._asks_at_new_temperature = False
        self.trajectory: list[Tensor] = []
        """Omega at the end of each domain t >= 2, rows of alpha, beta, gamma."""
        self.bounds: list[dict[str, Any]] = []
        """The bound at the end of each domain t >= 2, see
        :func:`~udil_avalanche.theory.bound_record.bound_record`."""
        self._estimates: BoundEstimates | None = None
        self._unknown = 0.0
        self._history_logits = torch.zeros(0)

    @property
    def C(self) -> float:
        """The paper's C for the memory as it is."""
        return len(self.replay.memory) ** 0.5 if self.c is None else self.c

    def before_training(self, strategy: Strategy, **kwargs: Any) -> None:
        """Refuse a model with a head for each task.

        :raises ValueError: if it has several heads.
        """
        super().before_training(strategy, **kwargs)
        require_one_head(self, strategy.model)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Reset Omega and measure the error of H_{t-1} on the memory."""
        needed = (self.replay, self.history, self.discriminator)
        require_before(strategy, self, *(each for each in needed if each is not None))
        memory, domain = self.replay.memory, self.replay.domain
        if len(memory) == 0 or self.history.model is None:
            self.known, self.scale, self._estimates = 0.0, 1.0, None
            return
        self._asks_at_new_temperature = self.doubt > 0
        history_error = self._history_error()
        if domain.goes_on and self._estimates is not None:
            self._estimates.history_error = history_error
            self._estimates.n_current = domain.n_samples
            self._estimates.n_memory = memory.counts
            if domain.brings_samples and (self.honest or self.balanced):
                share = len(strategy.experience.dataset) / domain.n_samples
                self._measure(strategy, self._estimates, share)
            return
        self.known, self.scale = 0.0, 1.0
        self.omega.start_domain(memory.n_domains, strategy.device)
        zero = history_error.new_zeros(())
        self._estimates = BoundEstimates(
            current_error=zero,
            past_error=history_error,
            current_disagreement=zero,
            past_disagreement=torch.zeros_like(history_error),
            divergence=torch.full_like(history_error, NO_ESTIMATE),
            history_error=history_error,
            n_current=domain.n_samples,
            n_memory=memory.counts,
        )
        if self.honest or self.balanced:
            self._measure(strategy, self._estimates)

    def _history_error(self) -> Tensor:
        memory = self.replay.memory
        if self.honest:
            embeddings = self.history.memory_embeddings[: len(memory)]
            errors = leave_one_out_errors(embeddings, memory.labels, memory.domains)
            return errors.float()
        predicted = self.history.memory_logits[: len(memory)].argmax(dim=1)
        wrong = disagreement(predicted, memory.labels)
        return empirical_risks(wrong, memory.domains, memory.n_domains)

    @torch.no_grad()
    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Estimate the errors on the mini-batch and take Omega's step on V_0-1."""
        batch, estimates = self.replay.batch, self._estimates
        if batch is None or estimates is None:
            return
        n = batch.n_current
        current_logits = self.history.current_logits(strategy, n)
        past_logits = self.history.batch_logits(batch)
        n_classes = strategy.mb_output.shape[1]
        if self._asks_at_new_temperature:
            # Only now is it known how many classes the model has.
            self._asks_at_new_temperature = False
            answers = widened(self.history.memory_logits, n_classes)
            self.temperature = telling_temperature(
                answers, self.doubt, self.lowest_temperature
            )
        self._history_logits = torch.cat(
            [widened(current_logits, n_classes), widened(past_logits, n_classes)]
        )
        self._update(strategy, estimates, batch)
        bound = self.omega.step(estimates, self.C)
        self.terms = {"V_0-1": bound, **_averages(self.omega.values)}
        if self.doubt > 0:
            self.terms["distillation_temperature"] = bound.new_tensor(self.temperature)

    def _measure(
        self, strategy: Strategy, estimates: BoundEstimates, share: float = 1.0
    ) -> None:
        """What H_{t-1} tells about the domain before it is learned, or about a part
        that is this share of it."""
        memory = self.replay.memory
        sample = self.history.domain_sample(strategy)
        wrong = disagreement(sample.logits.argmax(dim=1), sample.labels).mean()
        if self.honest:
            divergence = measured_divergences(
                self.history.memory_embeddings[: len(memory)],
                memory.domains,
                sample.embeddings,
            ).float()
            if share < 1:
                divergence = estimates.divergence.lerp(divergence, share)
            else:
                estimates.current_error = estimates.current_disagreement = wrong
            estimates.divergence = divergence
        if self.balanced:
            self._unknown += share * (float(wrong) - self._unknown)
            self.known = known_share(self._unknown, sample.logits.shape[1])
            self.scale = past_scale(memory.n_domains + 1, self.known)

    def _update(
        self, strategy: Strategy, estimates: BoundEstimates, batch: MemoryBatch
    ) -> None:
        n, n_past = batch.n_current, self.replay.memory.n_domains
        predicted = strategy.mb_output.argmax(dim=1)
        wrong = disagreement(predicted, strategy.mb_y)
        differs = disagreement(predicted, self._history_logits.argmax(dim=1))
        past_error = empirical_risks(wrong[n:], batch.domains, n_past)
        present = torch.bincount(batch.domains, minlength=n_past) > 0
        share = 1.0
        if self.honest:
            # On samples in memory h errs less than on new ones, as H_{t-1} does.
            past_error = past_error + estimates.history_error
            share = SMOOTHING

        def update(previous: Tensor, values: Tensor) -> Tensor:
            return torch.where(
                present, previous.lerp(values.to(previous), share), previous
            )

        estimates.current_error = estimates.current_error.lerp(wrong[:n].mean(), share)
        estimates.current_disagreement = estimates.current_disagreement.lerp(
            differs[:n].mean(), share
        )
        estimates.past_error = update(estimates.past_error, past_error)
        estimates.past_disagreement = update(
            estimates.past_disagreement,
            empirical_risks(differs[n:], batch.domains, n_past),
        )
        if self.discriminator is not None and not self.honest:
            estimates.divergence = update(
                estimates.divergence, self.discriminator.divergence
            )

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
            gate=self._gate(mb_y[: batch.n_current]) if self.gated else None,
            scale=self.scale,
            cross_domain_threshold=self.cross_domain_threshold,
            classification=self.classification,
            distillation=(
                multilabel_distillation_loss
                if self.multilabel
                else partial(distillation_loss, temperature=self.temperature)
            ),
        )
        self.terms["V_l"] = loss.total.detach()
        self.terms |= {
            f"V_l/{name}": value.detach() for name, value in loss._asdict().items()
        }
        return loss.total

    def _gate(self, labels: Tensor) -> Tensor:
        return history_gate(self._history_logits[: len(labels)], labels)

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Record Omega's final values."""
        if self._estimates is not None:
            omega = torch.stack(self.omega.values, dim=1)
            if self.replay.domain.goes_on:
                del self.trajectory[-1:], self.bounds[-1:]
            self.trajectory.append(omega.cpu())
            self.bounds.append(bound_record(self.omega.values, self._estimates, self.C))
        self.terms = {}
        self._history_logits = torch.zeros(0)

    def state_dict(self) -> dict[str, Any]:
        """Omega, its final values and bounds so far, and the last estimates."""
        return {
            "coefficients": self.omega.state_dict(),
            "trajectory": self.trajectory,
            "bounds": self.bounds,
            "known": self.known,
            "scale": self.scale,
            "estimates": None if self._estimates is None else vars(self._estimates),
        }

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.omega.load_state_dict(state["coefficients"], strategy.device)
        self.trajectory = list(state["trajectory"])
        self.bounds = list(state.get("bounds", []))
        self.known = state.get("known", 0.0)
        self.scale = state.get("scale", 1.0)
        estimates = on_device(state["estimates"], strategy.device)
        self._estimates = None if estimates is None else BoundEstimates(**estimates)


def _averages(omega: Omega) -> dict[str, Tensor]:
    return {name: values.mean() for name, values in omega._asdict().items()}

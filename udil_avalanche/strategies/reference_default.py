"""UDIL by its default as a plain loop, without Avalanche: what it makes of Algorithm 1.

:class:`~udil_avalanche.strategies.UDIL` does the same with plugins. A test checks that
both give the same weights. ``docs/udil.md`` has the reasons.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from udil_avalanche.losses import (
    classification_loss,
    coefficient_solution,
    distillation_loss,
    embedding_distillation_loss,
    history_gate,
    known_share,
    long_stream_weight,
    model_loss,
    objective_scale,
    past_scale,
    spread,
    telling_temperature,
)
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.strategies.reference import Algorithm1, Losses
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import softmax_coefficients
from udil_avalanche.theory.empirical_risk import disagreement, empirical_risks
from udil_avalanche.theory.leave_one_out import leave_one_out_errors
from udil_avalanche.theory.measured_divergence import measured_divergences


@dataclass(kw_only=True)
class DefaultLoop(Algorithm1):
    """Algorithm 1 with UDIL's default: Omega is solved from honest estimates, the past
    weighs by how much of the new domain is known, the memory of domain i is distilled
    from H_i, and the cross-domain term is gated. V_d and V_s are left out.

    The averaged weights that a run evaluates are not here: training does without them,
    but for H_t, which is the average then.
    """

    lambda_d: float = 0.0
    lambda_p: float = 0.03
    lambda_s: float = 0.0
    distillation_temperature: float = 2.0
    distillation_doubt: float = 0.15
    domain_sample: int = 512
    """Samples of a new domain that it is measured on."""
    smoothing: float = 0.1
    """The weight of a mini-batch in the estimates."""
    solve_every: int = 10
    """Steps between two solutions for Omega."""

    def _remember(self, X_t: Tensor, y_t: Tensor) -> None:
        """Store H_t(x) with the samples that enter the memory."""
        H_t = _frozen(self.h)
        self.memory.add_domain(
            TensorDataset(X_t, y_t),
            y_t,
            y_t.device,
            annotate=lambda fields: [H_t(fields[0])],
        )

    def _first(self, X_t: Tensor, y_t: Tensor) -> Iterator[Losses]:
        nothing = torch.zeros(())
        for x, y in self._batches(X_t, y_t):
            yield classification_loss(self.h(x), y), nothing, nothing, nothing

    def _later(self, X_t: Tensor, y_t: Tensor, t: int) -> Iterator[Losses]:
        h, memory, n_past = self.h, self.memory, t - 1
        nothing = torch.zeros(())

        H = _frozen(h)
        memory_x, _, own_answers = memory.fields
        memory_embeddings = H.encoder(memory_x)
        C = len(memory) ** 0.5
        T = telling_temperature(
            own_answers, self.distillation_doubt, self.distillation_temperature
        )

        # What H_{t-1} tells about the memory and about the new domain.
        history_error = leave_one_out_errors(
            memory_embeddings, memory.labels, memory.domains
        )
        own = torch.Generator().manual_seed(0)
        chosen = torch.randperm(len(y_t), generator=own)[: self.domain_sample]
        embeddings = H.encoder(X_t[chosen])
        logits = H.predictor(embeddings)
        H_wrong = disagreement(logits.argmax(dim=1), y_t[chosen]).mean()
        estimates = BoundEstimates(
            current_error=H_wrong,
            past_error=history_error,
            current_disagreement=H_wrong,
            past_disagreement=torch.zeros(n_past),
            divergence=measured_divergences(
                memory_embeddings, memory.domains, embeddings
            ),
            history_error=history_error,
            n_current=len(y_t),
            n_memory=memory.counts,
        )
        known = known_share(float(H_wrong), logits.shape[1])
        scale = past_scale(t, known)
        self.objective_scale = objective_scale(t, scale)
        omega_logits = torch.zeros(n_past, 3)

        for step, (x, y) in enumerate(self._batches(X_t, y_t)):
            n = len(y)
            drawn = memory.sample(self.batch_size_mem)
            domains = memory.domains[drawn]
            inputs = torch.cat([x, memory_x.index_select(0, drawn)])
            labels = torch.cat([y, memory.labels[drawn]])
            embeddings = h.encoder(inputs)
            logits = h.predictor(embeddings)
            history_logits = torch.cat([H(x), own_answers[drawn]])

            # What h adds, smoothed over mini-batches.
            predicted = logits.argmax(dim=1)
            wrong = disagreement(predicted, labels)
            differs = disagreement(predicted, history_logits.argmax(dim=1))
            for name, value in {
                "current_error": wrong[:n].mean(),
                "past_error": empirical_risks(wrong[n:], domains, n_past)
                + history_error,
                "current_disagreement": differs[:n].mean(),
                "past_disagreement": empirical_risks(differs[n:], domains, n_past),
            }.items():
                before = getattr(estimates, name)
                setattr(estimates, name, before.lerp(value, self.smoothing))

            # Omega solves V_0-1.
            if step % self.solve_every == 0:
                omega_logits = coefficient_solution(
                    estimates,
                    C,
                    start=omega_logits,
                    steps=100 if step == 0 else 20,
                )
                omega = softmax_coefficients(omega_logits)

            V_l = model_loss(
                logits=logits,
                labels=labels,
                domains=domains,
                history_logits=history_logits,
                omega=omega,
                gate=history_gate(history_logits[:n], y),
                scale=scale,
                distillation=partial(distillation_loss, temperature=T),
            ).total
            V_p = embedding_distillation_loss(
                embeddings[n:],
                memory_embeddings[drawn],
                domains,
                n_past,
                spread(memory_embeddings),
            )
            yield V_l, nothing, long_stream_weight(n_past) * V_p, nothing


def _frozen(model: EncoderPredictor) -> EncoderPredictor:
    copied = copy.deepcopy(model)
    copied.eval().requires_grad_(False)
    return copied

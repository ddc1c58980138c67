"""Equation (V_l): the loss that teaches the model h."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from udil_avalanche.losses.classification import classification_loss
from udil_avalanche.losses.distillation import distillation_loss
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.domains import domain_weights

SampleLoss = Callable[..., Tensor]
"""A loss of logits and targets, with ``reduction="mean"`` or ``"none"``."""


class ModelLoss(NamedTuple):
    """The four sums of V_l, each already weighted by its coefficients."""

    current: Tensor
    """Classification on the current domain."""

    replay: Tensor
    """Classification on past domains, weighted by gamma."""

    intra_domain: Tensor
    """Distillation on past domains, weighted by alpha."""

    cross_domain: Tensor
    """Distillation on the current domain, weighted by the sum of beta."""

    @property
    def total(self) -> Tensor:
        """V_l itself."""
        return self.current + self.replay + self.intra_domain + self.cross_domain


def model_loss(
    *,
    logits: Tensor,
    labels: Tensor,
    domains: Tensor,
    history_logits: Tensor,
    omega: Omega,
    gate: Tensor | None = None,
    scale: float = 1.0,
    cross_domain_threshold: float | None = None,
    classification: SampleLoss = classification_loss,
    distillation: SampleLoss = distillation_loss,
) -> ModelLoss:
    r"""Equation (V_l) on a mini-batch of the current domain and the memory:

    .. math::
        V_l = \sum_{i=1}^{t-1} [\gamma_i \hat\ell_{X_i}(h)
            + \alpha_i \hat\ell_{X_i}(h, H_{t-1})]
            + \hat\ell_{S_t}(h)
            + (\sum_{i=1}^{t-1} \beta_i) \hat\ell_{S_t}(h, H_{t-1})

    :param logits: outputs of h, the samples of the current domain first.
    :param labels: true classes of the same samples.
    :param domains: domain of each memory sample (the last ``len(domains)`` rows of
        the batch), counted from 0.
    :param history_logits: outputs of H_{t-1} on the same samples.
    :param omega: the coefficients, constants here.
    :param gate: how much the cross-domain term counts for each sample of the current
        domain, see :func:`~udil_avalanche.losses.history_gate`; the paper's formula has
        1 for all.
    :param scale: multiplies all sums over past domains, see
        :func:`~udil_avalanche.losses.past_scale`; the paper's formula has 1.
    :param cross_domain_threshold: the cross-domain term is left out of a batch in
        which its loss is larger. While H_{t-1} is still wrong about the new domain, the
        term would pull the model back to wrong answers. ``None`` never leaves it out.
        Above temperature 1 the loss has the factor of its square.
    :param classification: loss of logits and labels.
    :param distillation: loss of logits and the history model's logits.
    """
    n_past = len(omega.beta)
    n_current = len(logits) - len(domains)
    weights = domain_weights(domains, n_past)

    past_logits = logits[n_current:]
    replay = classification(past_logits, labels[n_current:], reduction="none")
    intra = distillation(past_logits, history_logits[n_current:], reduction="none")
    cross = _gated(gate, distillation, logits[:n_current], history_logits[:n_current])
    if cross_domain_threshold is not None:
        cross = cross * (cross.detach() <= cross_domain_threshold)

    return ModelLoss(
        current=classification(logits[:n_current], labels[:n_current]),
        replay=scale * (weights * omega.gamma[domains] * replay).sum(),
        intra_domain=scale * (weights * omega.alpha[domains] * intra).sum(),
        cross_domain=scale * omega.beta.sum() * cross,
    )


def _gated(
    gate: Tensor | None,
    distillation: SampleLoss,
    logits: Tensor,
    history_logits: Tensor,
) -> Tensor:
    if gate is None:
        return distillation(logits, history_logits)
    return (gate * distillation(logits, history_logits, reduction="none")).mean()

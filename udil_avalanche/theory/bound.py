"""The unified generalisation bound of Theorem 3.4, term by term.

For every past domain i the bound mixes three ways to bound the error, with
alpha_i + beta_i + gamma_i = 1: the history model on the memory (alpha, Lemma 3.2), the
history model on the current domain (beta, Lemma 3.3) and the labels in the memory
(gamma, Lemma 3.1).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from udil_avalanche.theory.coefficients import Omega


@dataclass
class BoundEstimates:
    """The quantities in the bound. Tensors hold one value per past domain, unless they
    are said to be scalars."""

    current_error: Tensor
    """0-1 error of h on the current domain (a scalar)."""

    past_error: Tensor
    """0-1 error of h on each past domain's memory."""

    current_disagreement: Tensor
    """Share of the current domain on which h and H_{t-1} differ (a scalar)."""

    past_disagreement: Tensor
    """The same on each past domain's memory."""

    divergence: Tensor
    """Empirical divergence between each past domain and the current one, in [0, 2]."""

    history_error: Tensor
    """0-1 error of H_{t-1} on each past domain's memory."""

    n_current: int
    """N_t, the size of the current domain."""

    n_memory: Tensor
    """The number of samples that the memory holds of each past domain."""


def erm_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The empirical risks on the memory, weighted by gamma."""
    return omega.gamma @ estimates.past_error


def intra_domain_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The disagreements with H_{t-1} on the memory, weighted by alpha (Lemma 3.2)."""
    return omega.alpha @ estimates.past_disagreement


def cross_domain_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The disagreement with H_{t-1} on the current domain, times the sum of beta
    (Lemma 3.3)."""
    return omega.beta.sum() * estimates.current_disagreement


def divergence_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """Half the divergences between past domains and the current one, weighted by
    beta (Lemma 3.3)."""
    return omega.beta @ estimates.divergence / 2


def history_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The errors of H_{t-1} itself, weighted by alpha + beta."""
    return (omega.alpha + omega.beta) @ estimates.history_error


def generalization_term(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    """The cost of finite samples: Lemmas A.1 and A.2 together, with C in place of the
    factor that depends on the VC dimension.

    :param c: the paper's C, see :func:`vc_constant`.
    """
    current = (1 + omega.beta.sum()) ** 2 / estimates.n_current
    past = (omega.gamma + omega.alpha) ** 2 / estimates.n_memory
    return c * torch.sqrt(current + past.sum())


def vc_constant(vc_dimension: int, n_samples: int, delta: float) -> float:
    r""":math:`C = \sqrt{8 d \log(2 e N / d) + 8 \log(2 / \delta)}`, the factor of
    Theorem 3.4 that the hyper-parameter C replaces.

    :param vc_dimension: d, of the hypothesis space.
    :param n_samples: N, the samples of the current domain and of the memory together.
    :param delta: the bound holds with probability 1 - delta.
    """
    d = vc_dimension
    return math.sqrt(
        8 * d * math.log(2 * math.e * n_samples / d) + 8 * math.log(2 / delta)
    )


def bound_terms(
    omega: Omega, estimates: BoundEstimates, c: float
) -> tuple[Tensor, ...]:
    """The terms of Theorem 3.4 that depend on Omega, in its order: all but the error on
    the current domain.

    :param omega: the coefficients.
    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C.
    """
    return (
        erm_term(omega, estimates),
        intra_domain_term(omega, estimates),
        cross_domain_term(omega, estimates),
        divergence_term(omega, estimates),
        history_term(omega, estimates),
        generalization_term(omega, estimates, c),
    )


def unified_bound(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    r"""Theorem 3.4: :math:`g(h, H_{t-1}, \Omega)`, which bounds the sum of the errors
    on all domains, :math:`\sum_{i=1}^t \epsilon_i(h) \le g`:

    .. math::
        g = & \sum_{i=1}^{t-1} [\gamma_i \hat\epsilon_i(h)
              + \alpha_i \hat\epsilon_i(h, H_{t-1})]
            + \hat\epsilon_t(h)
            + \Big(\sum_{i=1}^{t-1} \beta_i\Big) \hat\epsilon_t(h, H_{t-1}) \\
            & + \frac12 \sum_{i=1}^{t-1} \beta_i d_{H \Delta H}(D_i, D_t)
            + \sum_{i=1}^{t-1} (\alpha_i + \beta_i) \epsilon_i(H_{t-1}) \\
            & + C \sqrt{\frac{(1 + \sum_{i=1}^{t-1} \beta_i)^2}{N_t}
            + \sum_{i=1}^{t-1} \frac{(\gamma_i + \alpha_i)^2}{\tilde N_i}}

    :param omega: the coefficients.
    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C, see :func:`vc_constant`.
    """
    return sum(bound_terms(omega, estimates, c), start=estimates.current_error)

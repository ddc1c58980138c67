"""Equation (V_0-1): the loss that teaches Omega."""

from torch import Tensor

from udil_avalanche.theory.bound import BoundEstimates, bound_terms, generalization_term
from udil_avalanche.theory.coefficients import Omega


def coefficient_loss(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    r"""Equation (V_0-1): the part of the bound that depends on the coefficients,
    :math:`V_{0-1} = g(h, H_{t-1}, \Omega) - \hat\epsilon_t(h)` with
    :math:`\hat\epsilon_i(H_{t-1})` in place of :math:`\epsilon_i(H_{t-1})` and the
    empirical divergence. See :func:`~udil_avalanche.theory.bound.unified_bound` for g.

    :param omega: the coefficients.
    :param estimates: errors, disagreements and divergences, constants here.
    :param c: the paper's C.
    """
    terms = bound_terms(omega, estimates, c)
    return sum(terms[1:], start=terms[0])


def coefficient_gradient(omega: Omega, estimates: BoundEstimates, c: float) -> Omega:
    """The derivatives of V_0-1 by alpha, beta and gamma, as formulas: for a function
    this small, automatic differentiation takes twice as long.

    :param omega: the coefficients.
    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C.
    """
    root = generalization_term(omega, estimates, c=1)
    current = c / root * (1 + omega.beta.sum()) / estimates.n_current
    past = c / root * (omega.gamma + omega.alpha) / estimates.n_memory
    return Omega(
        alpha=estimates.past_disagreement + estimates.history_error + past,
        beta=estimates.current_disagreement
        + estimates.divergence / 2
        + estimates.history_error
        + current,
        gamma=estimates.past_error + past,
    )

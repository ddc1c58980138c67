"""Corollary 3.4.1: the tightest bound."""

from collections.abc import Callable

import torch
from torch import Tensor

from udil_avalanche.theory.bound import (
    BoundEstimates,
    generalization_term,
    unified_bound,
)
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.lemmas import cross_domain_bound, intra_domain_bound

BISECTIONS = 40
"""Halvings of an interval as wide as the number of domains: a billionth is left."""


def tightest_bound(estimates: BoundEstimates, c: float) -> Tensor:
    r"""Corollary 3.4.1, :math:`\min_\Omega g(h, H_{t-1}, \Omega)`: no bound with fixed
    coefficients is below it.

    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C, positive.
    """
    return unified_bound(tightest_coefficients(estimates, c), estimates, c)


def tightest_coefficients(estimates: BoundEstimates, c: float) -> Omega:
    r"""The Omega at which the bound is tightest. In training, each step on V_0-1 moves
    Omega towards it, for the estimates of that step.

    alpha and gamma have the same generalisation term, so only the one with the smaller
    bound is used. This leaves beta, for which :math:`g = k + C \sqrt Q` is convex. With
    :math:`C \sqrt Q = \min_r \frac C2 (Q / r + r)` the best beta follows from r and
    the sum of beta, and bisection finds these two.

    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C, positive.
    """
    by_labels = estimates.past_error <= intra_domain_bound(estimates)
    on_memory = torch.minimum(estimates.past_error, intra_domain_bound(estimates))
    price = (cross_domain_bound(estimates) - on_memory).double()

    def best_beta(r: float) -> Tensor:
        def given(total: float) -> Tensor:
            slope = r / c * price + (1 + total) / estimates.n_current
            return (1 - estimates.n_memory * slope).clamp(0, 1)

        n_past = len(price)
        return given(_root(lambda total: total - float(given(total).sum()), n_past))

    def with_beta(beta: Tensor) -> Omega:
        return Omega(
            alpha=torch.where(by_labels, 0.0, 1 - beta),
            beta=beta,
            gamma=torch.where(by_labels, 1 - beta, 0.0),
        )

    def excess(r: float) -> float:
        omega = with_beta(best_beta(r))
        return r - float(generalization_term(omega, estimates, c=1))

    tightest = with_beta(best_beta(_root(excess, high=2 + len(price))))
    return Omega(*(each.to(estimates.past_error) for each in tightest))


def _root(increasing: Callable[[float], float], high: float) -> float:
    """Where a function on [0, ``high``] changes its sign, by bisection."""
    low = 0.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(middle) > 0 else (middle, high)
    return high

"""Equation (V_0-1), solved for Omega."""

import torch
from torch import Tensor

from udil_avalanche.losses.coefficient_loss import coefficient_gradient
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import softmax_coefficients


def coefficient_solution(
    estimates: BoundEstimates,
    c: float,
    tau: float = 0.1,
    start: Tensor | None = None,
    steps: int = 100,
) -> Tensor:
    r"""The logits of the Omega that minimises

    .. math::
        V_{0-1}(\Omega) + \tau \sum_{i=1}^{t-1}
        KL\big((\alpha_i, \beta_i, \gamma_i) \,\|\, (1/3, 1/3, 1/3)\big).

    V_0-1 is convex in Omega, and linear but for the generalisation term. Its own
    minimum lies in a corner, where the smallest difference between two estimates
    decides everything: an estimate from a few samples should not. The second term
    makes Omega a smooth function of the estimates; two bounds that differ by less than
    about ``tau`` share the weight. At the minimum, Omega is the softmax of the negative
    gradient of V_0-1 divided by ``tau``, which is iterated here in part-steps.

    :param estimates: errors, disagreements and divergences.
    :param c: the paper's C.
    :param tau: how much the estimates have to differ to matter.
    :param start: logits to start from, such as those of the last solution.
    :param steps: number of part-steps.
    """
    zeros = torch.zeros_like(estimates.divergence)[:, None].expand(-1, 3)
    logits = zeros if start is None else start
    for _ in range(steps):
        gradient = coefficient_gradient(softmax_coefficients(logits), estimates, c)
        logits = logits.lerp(-torch.stack(gradient, dim=1) / tau, PART)
        logits = logits - logits.mean(dim=1, keepdim=True)
    return logits


PART = 0.1
"""The share of the way to the next iterate that is taken. Whole steps would oscillate:
the generalisation term moves against a change of beta."""

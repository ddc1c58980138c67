"""Omega, the coefficients of the bound."""

from typing import NamedTuple

import torch
from torch import Tensor


class Omega(NamedTuple):
    """The coefficients of the bound, one of each per past domain."""

    alpha: Tensor
    """Weight of the intra-domain bound."""

    beta: Tensor
    """Weight of the cross-domain bound."""

    gamma: Tensor
    """Weight of the empirical risk on the memory."""


def softmax_coefficients(logits: Tensor) -> Omega:
    r"""Omega as the softmax of three logits per past domain (appendix C.1), which keeps
    :math:`\alpha_i + \beta_i + \gamma_i = 1` and all of them positive.

    :param logits: one row of three per past domain.
    """
    return Omega(*logits.softmax(dim=1).unbind(dim=1))


def fixed_coefficients(values: tuple[float, float, float], n_past: int) -> Omega:
    """The same (alpha, beta, gamma) for all past domains, as in Table 1.

    :param values: alpha, beta and gamma.
    :param n_past: number of past domains.
    """
    return Omega(*torch.tensor(values, dtype=torch.float)[:, None].expand(3, n_past))


def softmax_gradient(omega: Omega, gradient: Omega) -> Tensor:
    """The derivative by the logits of :func:`softmax_coefficients`, given that by the
    coefficients.

    :param omega: the coefficients.
    :param gradient: the derivative of some loss by each of them.
    """
    probabilities = torch.stack(omega, dim=1)
    by_coefficient = torch.stack(gradient, dim=1)
    average = (probabilities * by_coefficient).sum(dim=1, keepdim=True)
    return probabilities * (by_coefficient - average)

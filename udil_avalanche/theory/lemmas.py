r"""The lemmas that lead to Theorem 3.4.

Where the paper has the expression
:math:`\sqrt{8 d \log(2 e N / d) + 8 \log(2 / \delta)}`, these functions take its value
c, which :func:`~udil_avalanche.theory.bound.vc_constant` computes.
"""

import math

import torch
from torch import Tensor

from udil_avalanche.theory.bound import BoundEstimates


def weighted_domains_bound(
    alpha: Tensor, errors: Tensor, n_samples: Tensor, c: float
) -> Tensor:
    r"""Lemma A.1: bounds the weighted errors of several domains,
    :math:`\sum_j \alpha_j \hat\epsilon_j(h) + C \sqrt{\sum_j \alpha_j^2 / N_j}`.

    :param alpha: the weight of each domain.
    :param errors: the empirical risk of h on each.
    :param n_samples: N_j, the number of samples of each.
    :param c: the paper's C.
    """
    return alpha @ errors + c * torch.sqrt((alpha**2 / n_samples).sum())


def weighted_labelings_bound(
    beta: Tensor, errors: Tensor, n_samples: int, c: float
) -> Tensor:
    r"""Lemma A.2: bounds the weighted errors against several labelling functions on the
    same samples,
    :math:`\sum_j \beta_j \hat\epsilon(h, f_j) + (\sum_j \beta_j) C / \sqrt N`.

    :param beta: the weight of each labelling function f_j.
    :param errors: the empirical risk of h against each.
    :param n_samples: N, the number of samples.
    :param c: the paper's C.
    """
    return beta @ errors + beta.sum() * c / math.sqrt(n_samples)


def disagreement_gap(divergence: Tensor) -> Tensor:
    r"""Lemma A.3 (Ben-David et al.): the largest possible difference between two
    domains in how often two hypotheses disagree, :math:`\frac12 d_{H \Delta H}`.

    :param divergence: the divergence between the two domains.
    """
    return divergence / 2


def erm_bound(estimates: BoundEstimates, c: float) -> Tensor:
    r"""Lemma 3.1, the ERM-based bound: Lemma A.1 with weight 1 for every domain,
    :math:`\sum_{i \le t} \hat\epsilon_i(h)
    + C \sqrt{1 / N_t + \sum_{i < t} 1 / \tilde N_i}`.

    :param estimates: the errors of h on all domains.
    :param c: the paper's C.
    """
    errors = torch.cat([estimates.current_error[None], estimates.past_error])
    n_current = estimates.n_memory.new_tensor([estimates.n_current])
    n_samples = torch.cat([n_current, estimates.n_memory])
    return weighted_domains_bound(torch.ones_like(errors), errors, n_samples, c)


def intra_domain_bound(estimates: BoundEstimates) -> Tensor:
    r"""Lemma 3.2, for each past domain i:
    :math:`\epsilon_i(h) \le \epsilon_i(h, H_{t-1}) + \epsilon_i(H_{t-1})`.

    :param estimates: disagreements and history errors on the past domains.
    """
    return estimates.past_disagreement + estimates.history_error


def cross_domain_bound(estimates: BoundEstimates) -> Tensor:
    r"""Lemma 3.3, for each past domain i:

    .. math::
        \epsilon_i(h) \le \epsilon_t(h, H_{t-1})
            + \frac12 d_{H \Delta H}(D_i, D_t) + \epsilon_i(H_{t-1})

    :param estimates: the disagreement on the current domain, divergences and history
        errors.
    """
    gap = disagreement_gap(estimates.divergence)
    return estimates.current_disagreement + gap + estimates.history_error

"""The divergence between domains, measured by a classifier that cannot memorise."""

import torch
from torch import Tensor

from udil_avalanche.theory.leave_one_out import leave_one_out_predictions

VALUES_AT_ONCE = 2**23
"""How many values the matrices of several domains may have together."""


def measured_divergence(past: Tensor, current: Tensor) -> Tensor:
    r"""The empirical divergence :math:`\hat d_{H \Delta H}(e(U_i), e(U_t))` of section
    4 of the paper between one past domain and the current one, from the errors of a
    linear classifier that tells them apart. It predicts each sample by a fit without
    it, see :func:`~udil_avalanche.theory.leave_one_out.leave_one_out_predictions`.

    A discriminator that is trained on the memory measures nothing: with few steps it
    tells no domains apart, with many it memorises its samples and tells all apart. This
    one is 0 for two draws from one domain, and needs no training. Of a single sample
    nothing can be measured: the divergence is 2 then, so that the bound holds.

    :param past: e(x) for the samples of the past domain, or of several with as many
        samples each, one after the other in the first dimension.
    :param current: e(x) for samples of the current domain.
    :return: a number in [0, 2] for each past domain; 2 if no sample is mistaken.
    """
    n_past, n_current = past.shape[-2], len(current)
    if min(n_past, n_current) < 2:
        return past.new_full(past.shape[:-2], 2.0)
    n = n_past + n_current
    is_past = torch.arange(n, device=past.device) < n_past
    # Both domains weigh the same, however many samples there are.
    weights = torch.where(is_past, n / (2 * n_past), n / (2 * n_current)).to(past.dtype)
    targets = torch.where(is_past, 1.0, -1.0).to(past.dtype)[:, None]
    both = torch.cat([past, current.expand(*past.shape[:-2], -1, -1)], dim=-2)
    scores = leave_one_out_predictions(both, targets, weights)[..., 0]
    wrong = ((scores > 0) != is_past).to(past.dtype)
    errors = wrong[..., :n_past].mean(dim=-1) + wrong[..., n_past:].mean(dim=-1)
    return (2 - 2 * errors).clamp(min=0)


def measured_divergences(past: Tensor, domains: Tensor, current: Tensor) -> Tensor:
    """:func:`measured_divergence` between each past domain and the current one.

    Domains with as many samples are measured at once: in a stream of hundreds of
    domains with a few samples each, one at a time would take longer than learning.

    :param past: e(x) for the samples in memory.
    :param domains: the domain of each of them, counted from 0, none left out.
    :param current: e(x) for samples of the current domain.
    """
    counts = torch.bincount(domains)
    by_domain = torch.split(past[domains.argsort(stable=True)], counts.tolist())
    divergences = past.new_empty(len(counts))
    for count in sorted(set(counts.tolist())):
        n = count + len(current)
        at_once = max(1, VALUES_AT_ONCE // (n * (n + past.shape[1])))
        same = torch.nonzero(counts == count).squeeze(1)
        for members in torch.split(same, at_once):
            stacked = torch.stack([by_domain[i] for i in members.tolist()])
            divergences[members] = measured_divergence(stacked, current)
    return divergences

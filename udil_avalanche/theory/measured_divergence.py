"""The divergence between domains, measured by a classifier that cannot memorise."""

import torch
from torch import Tensor

from udil_avalanche.theory.leave_one_out import leave_one_out_predictions


def measured_divergence(past: Tensor, current: Tensor) -> Tensor:
    r"""The empirical divergence :math:`\hat d_{H \Delta H}(e(U_i), e(U_t))` of section
    4 of the paper between one past domain and the current one, from the errors of a
    linear classifier that tells them apart. It predicts each sample by a fit without
    it, see :func:`~udil_avalanche.theory.leave_one_out.leave_one_out_predictions`.

    A discriminator that is trained on the memory measures nothing: with few steps it
    tells no domains apart, with many it memorises its samples and tells all apart. This
    one is 0 for two draws from one domain, and needs no training. Of a single sample
    nothing can be measured: the divergence is 2 then, so that the bound holds.

    :param past: e(x) for the samples of the past domain.
    :param current: e(x) for samples of the current domain.
    :return: a number in [0, 2]; 2 if no sample is mistaken.
    """
    if min(len(past), len(current)) < 2:
        return past.new_tensor(2.0)
    sizes = torch.tensor([len(past), len(current)], device=past.device)
    is_past = torch.arange(len(past) + len(current), device=past.device) < len(past)
    # Both domains weigh the same, however many samples there are.
    weights = (sizes.sum() / (2 * sizes.to(past.dtype)))[(~is_past).long()]
    targets = torch.where(is_past, 1.0, -1.0).to(past.dtype)[:, None]
    scores = leave_one_out_predictions(torch.cat([past, current]), targets, weights)
    wrong = ((scores[:, 0] > 0) != is_past).to(past.dtype)
    errors = wrong[is_past].mean() + wrong[~is_past].mean()
    return (2 - 2 * errors).clamp(min=0)


def measured_divergences(past: Tensor, domains: Tensor, current: Tensor) -> Tensor:
    """:func:`measured_divergence` between each past domain and the current one.

    :param past: e(x) for the samples in memory.
    :param domains: the domain of each of them, counted from 0, none left out.
    :param current: e(x) for samples of the current domain.
    """
    n_past = int(domains.max()) + 1
    return torch.stack(
        [measured_divergence(past[domains == i], current) for i in range(n_past)]
    )

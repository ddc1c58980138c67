"""Averages per domain over a mini-batch that mixes samples of several domains."""

import torch
from torch import Tensor


def domain_weights(domains: Tensor, n_domains: int) -> Tensor:
    r"""Weights ``w`` so that ``(w * v).sum()`` estimates the sum over domains of the
    domain's average of ``v``.

    Every sum over past domains in the paper has the form
    :math:`\sum_i \frac{1}{|B_i|} \sum_{x \in B_i} v(x)`. A memory batch that is
    smaller than the number of domains misses some of them. The memory chooses those at
    random, so scaling up the others keeps the estimate unbiased.

    :param domains: domain of each sample, counted from 0.
    :param n_domains: number of domains that the sum runs over.
    :return: one weight per sample.
    """
    counts = torch.bincount(domains, minlength=n_domains)
    present = (counts > 0).sum()
    return n_domains / (present * counts[domains])


def domain_means(values: Tensor, domains: Tensor, n_domains: int) -> Tensor:
    """The average of ``values`` in each domain; 0 for a domain without a sample.

    :param values: one value per sample.
    :param domains: domain of each sample, counted from 0.
    :param n_domains: number of domains.
    :return: one average per domain.
    """
    counts = torch.bincount(domains, minlength=n_domains)
    sums = values.new_zeros(n_domains).index_add(0, domains, values)
    return sums / counts.clamp(min=1)

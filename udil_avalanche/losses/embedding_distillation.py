"""Equation (V_p): past-embedding distillation."""

from torch import Tensor

from udil_avalanche.theory.domains import domain_weights

MOST_DOMAINS = 20
"""The length of the longest streams that the default weight of (V_p) was chosen on."""


def embedding_distillation_loss(
    embeddings: Tensor,
    history_embeddings: Tensor,
    domains: Tensor,
    n_past: int,
    scale: Tensor | float = 1.0,
) -> Tensor:
    r"""Equation (V_p), the squared distance between the memory's embeddings and those
    of the history encoder:

    .. math::
        V_p = \sum_{i=1}^{t-1} E_{x \sim D_i} \| e(x) - E_{t-1}(x) \|_2^2

    :param embeddings: e(x) of the memory samples.
    :param history_embeddings: E_{t-1}(x) of the same samples.
    :param domains: domain of each of them, counted from 0.
    :param n_past: number of past domains.
    :param scale: divides the distances; the paper's formula has 1. With
        :func:`~udil_avalanche.losses.spread` of the memory's E_{t-1}(x), the loss does
        not depend on the width and the scale of the embeddings.
    """
    distances = (embeddings - history_embeddings).pow(2).sum(dim=1) / scale
    return (domain_weights(domains, n_past) * distances).sum()


def long_stream_weight(n_past: int) -> float:
    """min(1, 20 / n), what (V_p) is multiplied by with n past domains.

    (V_p) is a sum over them, and the model's gradient is clipped: with hundreds of past
    domains nothing else would be learned, and the embeddings of all samples would
    become the same. From 20 domains on, they together weigh as much as 20.

    :param n_past: n, at least 1.
    """
    return min(1.0, MOST_DOMAINS / n_past)

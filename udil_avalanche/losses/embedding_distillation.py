"""Equation (V_p): past-embedding distillation."""

from torch import Tensor

from udil_avalanche.theory.domains import domain_weights


def embedding_distillation_loss(
    embeddings: Tensor, history_embeddings: Tensor, domains: Tensor, n_past: int
) -> Tensor:
    r"""Equation (V_p), the squared distance between the memory's embeddings and those
    of the history encoder:

    .. math::
        V_p = \sum_{i=1}^{t-1} E_{x \sim D_i} \| e(x) - E_{t-1}(x) \|_2^2

    :param embeddings: e(x) of the memory samples.
    :param history_embeddings: E_{t-1}(x) of the same samples.
    :param domains: domain of each of them, counted from 0.
    :param n_past: number of past domains.
    """
    distances = (embeddings - history_embeddings).pow(2).sum(dim=1)
    return (domain_weights(domains, n_past) * distances).sum()

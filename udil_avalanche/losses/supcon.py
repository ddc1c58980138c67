"""Equation V_s: the supervised contrastive loss."""

from typing import Any

import torch
from torch import Tensor


def supcon_loss(embeddings: Tensor, labels: Tensor, temperature: float = 1.0) -> Tensor:
    """Equation (V_s) on a mini-batch, with the squared Euclidean distance
    :math:`s_e(u, v) = \\| e(u) - e(v) \\|_2^2`:

    .. math::
        V_s = E_{x_1, x_2 | y} \\Big[ -\\log \\frac{\\exp\\{-s_e(x_1, x_2)\\}}
              {\\sum_{u \\ne x_1} \\exp\\{-s_e(x_1, u)\\}} \\Big]

    Each sample with another of its class in the batch is an anchor x_1; its loss is the
    average over all such x_2; the u are all other samples of the batch. The anchor
    itself is left out before the softmax takes its maximum, so the value is the
    formula's for embeddings of any scale. A batch without a pair gives 0.

    Distances come from inner products about the batch's mean, which is fast. In single
    precision, embeddings that are nearer to each other than about a thousandth of their
    distance from that mean count as equally near: give embeddings in double precision
    where classes are as tight and as far apart as that.

    :param embeddings: e(x), one row per sample.
    :param labels: true classes; domains play no part.
    :param temperature: divides the distances; the paper's formula has 1.
    """
    similarity = -_SquaredDistances.apply(embeddings) / temperature
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    never = torch.finfo(similarity.dtype).min
    log_probability = similarity.masked_fill(itself, never).log_softmax(dim=1)

    positive = (labels[:, None] == labels) & ~itself
    n_positive = positive.sum(dim=1)
    attraction = torch.where(positive, log_probability, 0).sum(dim=1)
    n_anchors = (n_positive > 0).sum()
    return -(attraction / n_positive.clamp(min=1)).sum() / n_anchors.clamp(min=1)


class _SquaredDistances(torch.autograd.Function):
    """The squared distance of every two rows, and its derivative by one product of
    matrices: in direction G it is 2 (diag(S 1) - S) E with S = G + G^T. Where the rows
    are counted from drops out of it."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor) -> Tensor:
        centred = embeddings - embeddings.mean(dim=0)
        ctx.save_for_backward(centred)
        products = centred @ centred.T
        norms = products.diagonal()
        return (norms[:, None] + norms - 2 * products).clamp_(min=0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (centred,) = ctx.saved_tensors
        weights = -2 * (gradient + gradient.T)
        weights.diagonal().sub_(weights.sum(dim=1))
        return weights @ centred


__all__ = ["supcon_loss"]

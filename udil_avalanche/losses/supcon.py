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
    average over all such x_2; the u are all other samples of the batch. The
    log-sum-exp leaves the anchor itself out before the maximum is taken, so the value
    is the formula's for embeddings of any scale. A batch without a pair gives 0.

    Distances come from inner products about the batch's mean, which is fast. In single
    precision, embeddings that are nearer to each other than about a thousandth of their
    distance from that mean count as equally near: give embeddings in double precision
    where classes are as tight and as far apart as that.

    :param embeddings: e(x), one row per sample.
    :param labels: true classes; domains play no part.
    :param temperature: divides the distances; the paper's formula has 1.
    """
    centred = embeddings - embeddings.detach().mean(dim=0)
    similarity = -_squared_distances(centred) / temperature
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    log_denominator = similarity.masked_fill(itself, -torch.inf).logsumexp(dim=1)

    positive = (labels[:, None] == labels) & ~itself
    n_positive = positive.sum(dim=1)
    attraction = (similarity * positive).sum(dim=1) / n_positive.clamp(min=1)
    is_anchor = n_positive > 0
    loss = torch.where(is_anchor, log_denominator - attraction, 0.0)
    return loss.sum() / is_anchor.sum().clamp(min=1)


def _squared_distances(embeddings: Tensor) -> Tensor:
    norms = embeddings.pow(2).sum(dim=1)
    products: Tensor = _InnerProducts.apply(embeddings)
    return (norms[:, None] + norms - 2 * products).clamp(min=0)


class _InnerProducts(torch.autograd.Function):
    """E E^T. Its derivative in direction G is (G + G^T) E, one product of matrices,
    where two independent factors would need two: G E and G^T E."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor) -> Tensor:
        ctx.save_for_backward(embeddings)
        return embeddings @ embeddings.T

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (embeddings,) = ctx.saved_tensors
        return (gradient + gradient.T) @ embeddings


__all__ = ["supcon_loss"]

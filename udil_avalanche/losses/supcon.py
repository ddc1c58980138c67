"""Equation (V_s): the supervised contrastive loss."""

from typing import Any

import torch
from torch import Tensor


def supcon_loss(
    embeddings: Tensor, labels: Tensor, temperature: Tensor | float = 1.0
) -> Tensor:
    r"""Equation (V_s) on a mini-batch, with the squared Euclidean distance
    :math:`s_e(u, v) = \| e(u) - e(v) \|_2^2`:

    .. math::
        V_s = E_{x_1, x_2 | y} \Big[ -\log \frac{\exp\{-s_e(x_1, x_2)\}}
              {\sum_{u \ne x_1} \exp\{-s_e(x_1, u)\}} \Big]

    Every sample that shares its class with another one in the batch serves as anchor
    x_1. Its loss is the average over all those others as x_2. The u are all samples of
    the batch but the anchor, x_2 among them, whereas the paper draws them separately
    and adds x_2's term. The anchor is masked before the log-softmax, so the value is
    exact for embeddings of any scale. A batch without a pair gives 0.

    Distances are computed from inner products about the batch's mean, which is fast. In
    single precision, this cannot resolve distances that are smaller than about a
    thousandth of the distance from that mean. Use double precision if the classes are
    that tight and that far apart.

    :param embeddings: e(x), one row per sample.
    :param labels: true classes; domains do not matter.
    :param temperature: divides the distances; the paper's formula has 1. With a share
        of the embeddings' :func:`~udil_avalanche.losses.spread`, the loss does not
        depend on the width and the scale of the embeddings.
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
    """The squared distances between all rows of E. For an incoming gradient G the
    derivative is one matrix product, 2 (diag(S 1) - S) E with S = G + G^T. It does not
    change if E is shifted, so the centred E can be used."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor) -> Tensor:
        centred = embeddings - embeddings.mean(dim=0)
        ctx.save_for_backward(centred)
        products = centred @ centred.T
        norms = products.diagonal()
        return (norms[:, None] + norms - 2 * products).clamp_(min=0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        centred: Tensor = ctx.saved_tensors[0]
        weights = -2 * (gradient + gradient.T)
        weights.diagonal().sub_(weights.sum(dim=1))
        return weights @ centred

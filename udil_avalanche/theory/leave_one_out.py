"""Honest predictions on samples that a fit has seen: each by a fit without it."""

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.theory.domains import domain_means, domain_weights

MANY = 4
"""So many times as many samples as features are many."""


def leave_one_out_predictions(
    features: Tensor,
    targets: Tensor,
    weights: Tensor,
    shrinkage: float = 0.1,
    groups: Tensor | None = None,
) -> Tensor:
    r"""What a ridge regression predicts for each sample when it is fitted to all the
    others. With targets of -1 and 1 it is a linear discriminant analysis whose
    covariance is shrunk.

    A network that was trained on a few samples is right about all of them, which says
    nothing about new ones. Leaving each sample out does, and for a ridge regression it
    needs no second fit: if :math:`H` is the matrix that maps targets to predictions,
    the prediction without sample i is
    :math:`y_i - (y_i - \hat y_i) / (1 - H_{ii})`.

    :param features: one row per sample. There may be further dimensions before, here
        and in the next two, for several fits at once.
    :param targets: what to predict, one row per sample.
    :param weights: the weight of each sample in the fit, all above 0.
    :param shrinkage: the ridge, as a share of the features' variance. It is the same
        for all scales of the features.
    :param groups: the group of each sample, counted from 0, if each group is to have an
        intercept of its own, so that nothing is learned from differences between
        groups. Each needs two samples. One intercept for all by default. Only for a
        single fit.
    """
    root = weights.sqrt()
    total = _sums(weights, groups)
    centred = (features - _means(features, weights, groups)) * root[..., None]
    wanted = (targets - _means(targets, weights, groups)) * root[..., None]
    fitted, own_share = _ridge_regression(centred, wanted, shrinkage)
    leverage = own_share + weights / total
    residuals = wanted - fitted
    predictions: Tensor = (
        targets - residuals / ((1 - leverage).clamp(min=1e-6) * root)[..., None]
    )
    return predictions


def _ridge_regression(
    features: Tensor, targets: Tensor, shrinkage: float
) -> tuple[Tensor, Tensor]:
    """What it predicts for the samples that it is fitted to, and the diagonal of H.

    H has a row for each sample. Of many samples with few features it is not made: the
    covariance of the features gives the same in a small part of the time.
    """
    n, width = features.shape[-2:]
    if n > MANY * width:
        covariance = features.mT @ features
        solution = torch.linalg.solve(
            _with_ridge(covariance, shrinkage, n), features.mT
        )
        return features @ (solution @ targets), (features * solution.mT).sum(dim=-1)
    products = features @ features.mT
    smoother = torch.linalg.solve(_with_ridge(products, shrinkage, n), products)
    return smoother @ targets, smoother.diagonal(dim1=-2, dim2=-1)


def _with_ridge(matrix: Tensor, shrinkage: float, n: int) -> Tensor:
    """Both matrices of products have the same trace, the sum of all squares."""
    trace = matrix.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    ridge = (shrinkage * (trace / n)).clamp(min=1e-12)
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return matrix + ridge[..., None, None] * identity


def _sums(weights: Tensor, groups: Tensor | None) -> Tensor:
    """The sum of the weights, or for each sample that of its group."""
    if groups is None:
        return weights.sum(dim=-1, keepdim=True)
    sums = weights.new_zeros(int(groups.max()) + 1).index_add(0, groups, weights)
    return sums[groups]


def _means(values: Tensor, weights: Tensor, groups: Tensor | None) -> Tensor:
    """The weighted mean of the rows, or for each row that of its group."""
    if groups is None:
        total = weights[..., None, :] @ values
        return total / weights.sum(dim=-1)[..., None, None]
    sums = values.new_zeros(int(groups.max()) + 1, values.shape[1])
    sums = sums.index_add(0, groups, weights[:, None] * values)
    return sums[groups] / _sums(weights, groups)[:, None]


def leave_one_out_errors(features: Tensor, labels: Tensor, domains: Tensor) -> Tensor:
    """The 0-1 error in each domain of a classifier on ``features`` that predicts every
    sample from all the others; domains weigh the same.

    It stands for the error on new samples of a model whose embeddings these are. The
    model's own error on samples that it was trained on is 0, whatever the domain.

    :param features: one row per sample.
    :param labels: true classes.
    :param domains: domain of each sample, counted from 0, none left out.
    """
    n_domains = int(domains.max()) + 1
    weights = domain_weights(domains, n_domains).to(features.dtype)
    scores = leave_one_out_predictions(
        features, F.one_hot(labels).to(features.dtype), weights
    )
    wrong = (scores.argmax(dim=1) != labels).to(features.dtype)
    return domain_means(wrong, domains, n_domains)

"""Ridge regression on random features."""

import math

import torch
from torch import Tensor

from udil_avalanche.models.heads.closed_form import ClosedFormHead

SMALLEST, FIRST, LARGEST = -6, -1, 2
"""The powers of 10 that the choice of the penalty is limited to and begins with, in
units of the mean of G's diagonal."""

FREEDOM = 1e-6
"""Least number of degrees of freedom that a penalty leaves."""


class RandomRidge(ClosedFormHead):
    r"""Ridge regression of the one-hot labels on random features
    :math:`\phi(x) = \max(0, x W)`, where W is drawn once: the second stage of RanPAC
    (`McDonnell et al., NeurIPS 2023 <https://arxiv.org/abs/2307.02251>`_).

    With G the sum of all :math:`\phi \phi^T` and C that of all :math:`\phi y^T`, both
    centred, the weights are :math:`(G + \lambda I)^{-1} C`.

    Deviations from the paper, and their reasons:

    1. :math:`\lambda` is chosen by generalised cross-validation (`Golub et al., 1979
       <https://doi.org/10.1080/00401706.1979.10489751>`_), which needs nothing but the
       sums. The paper tries several values on a part of the newest task that it holds
       out, so that its choice depends on which task is the newest.
    2. There is an intercept without a penalty, by centring features and labels.

    :param width: length of a feature vector.
    :param n_classes: number of classes.
    :param random_features: number of random features.
    :param ridge: the penalty, in units of the mean of G's diagonal; ``None`` chooses
        it.
    """

    projection: Tensor
    """W."""

    SUMS = (*ClosedFormHead.SUMS, "squares")

    squares: Tensor
    """Sum of the outer products of all random features."""

    def __init__(
        self,
        width: int,
        n_classes: int,
        random_features: int = 4000,
        ridge: float | None = None,
    ) -> None:
        super().__init__(random_features, n_classes)
        self.ridge = ridge
        # Scaled, so that random features are about as large as features.
        projection = torch.randn(width, random_features) / math.sqrt(width)
        self.register_buffer("projection", projection)
        zeros = torch.zeros(random_features, random_features, dtype=torch.float64)
        self.register_buffer("squares", zeros)

    def randomised(self, features: Tensor) -> Tensor:
        """phi, the random features.

        :param features: N x width.
        """
        return (features @ self.projection).relu()

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor) -> None:
        """Add samples to the sums.

        :param features: N x width.
        :param labels: the class of each.
        """
        phi = self.randomised(features).double()
        super().observe(phi, labels)
        self.squares.addmm_(phi.T, phi)

    def solution(self) -> tuple[Tensor, Tensor]:
        """The weights of the random features, and the intercepts."""
        n = self.counts.sum().clamp(min=1)
        mean, shares = self.sums.sum(dim=0) / n, self.counts / n
        gram = self.squares - n * mean[:, None] * mean
        targets = self.sums.T - n * mean[:, None] * shares
        # The labels are one-hot: their squares are themselves.
        total = n * (shares - shares.square()).sum()
        unit = gram.diagonal().mean().clamp(min=torch.finfo(torch.float64).tiny)
        if self.ridge is None:
            weight = best_solution(gram / unit, targets / unit, total / unit, n)
        else:
            weight, _ = _solved(gram / unit, targets / unit, self.ridge)
        return weight.T, shares - weight.T @ mean

    def forward(self, features: Tensor) -> Tensor:
        """The class logits.

        :param features: N x width.
        """
        return super().forward(self.randomised(features))


def best_solution(gram: Tensor, targets: Tensor, total: Tensor, n: Tensor) -> Tensor:
    r"""The weights by the penalty with the least generalised cross-validation error
    :math:`n \cdot RSS(\lambda) / (n - 1 - tr H(\lambda))^2`, where H maps the labels to
    the predictions and the 1 is the intercept. The search goes downhill in steps of a
    factor of 10, and then of its square root.

    :param gram: the centred G.
    :param targets: the centred C.
    :param total: sum of the squares of the centred labels.
    :param n: number of samples.
    """

    def tried(exponent: float) -> tuple[float, float, Tensor]:
        weight, inverse = _solved(gram, targets, 10.0**exponent)
        # With S = G + lambda I: tr H = tr(S^-1 G) = M - lambda tr(S^-1), and since
        # S w = C the residual sum of squares is total - w.C - lambda w.w.
        trace = len(gram) - 10.0**exponent * inverse.diagonal().sum()
        residual = total - (weight * targets).sum()
        residual -= 10.0**exponent * weight.square().sum()
        freedom = (n - 1 - trace).clamp(min=FREEDOM)
        return float(residual.clamp(min=0) / freedom.square()), exponent, weight

    best = tried(FIRST)
    for direction in (-1, 1):
        while SMALLEST <= best[1] + direction <= LARGEST:
            further = tried(best[1] + direction)
            if further[0] >= best[0]:
                break
            best = further
    halves = [tried(best[1] + step) for step in (-0.5, 0.5)]
    return min([best, *halves], key=lambda each: each[0])[2]


def _solved(gram: Tensor, targets: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """(G + lambda I)^-1 C, and the inverse."""
    shifted = gram.clone()
    shifted.diagonal().add_(penalty)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(shifted))
    return inverse @ targets, inverse

"""Streaming linear discriminant analysis."""

import torch
from torch import Tensor

from udil_avalanche.models.heads.closed_form import ClosedFormHead


class DiscriminantAnalysis(ClosedFormHead):
    r"""Linear discriminant analysis with one covariance :math:`\Sigma` for all classes
    (`Hayes and Kanan, CVPR Workshops 2020 <https://arxiv.org/abs/1909.01520>`_): with
    :math:`\Lambda = ((1 - \epsilon) \Sigma + \epsilon v I)^{-1}` the logit of class c
    is :math:`\mu_c^T \Lambda x - \frac12 \mu_c^T \Lambda \mu_c`.

    Deviations from the paper, and their reasons:

    1. :math:`\Sigma` is exactly the mean over all samples of
       :math:`(x - \mu_c)(x - \mu_c)^T`, from the sum of all :math:`x x^T`. The paper's
       running update weighs a sample by those seen before it, so that it depends on
       their order.
    2. The shrinkage :math:`\epsilon` is relative to the mean variance v of a feature
       (the paper has v = 1), so that it means the same on features of any scale.

    :param width: length of a feature vector.
    :param n_classes: number of classes.
    :param shrinkage: epsilon.
    """

    SUMS = (*ClosedFormHead.SUMS, "squares")

    squares: Tensor
    """Sum of the outer products of all features."""

    def __init__(self, width: int, n_classes: int, shrinkage: float = 0.1) -> None:
        super().__init__(width, n_classes)
        self.shrinkage = shrinkage
        zeros = torch.zeros(width, width, dtype=torch.float64)
        self.register_buffer("squares", zeros)

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor) -> None:
        """Add samples to the sums.

        :param features: N x width.
        :param labels: the class of each.
        """
        super().observe(features, labels)
        features = features.double()
        self.squares.addmm_(features.T, features)

    @property
    def covariance(self) -> Tensor:
        """Sigma: the mean covariance of the features within a class."""
        between = (self.sums.T / self.counts.clamp(min=1)) @ self.sums
        covariance: Tensor = (self.squares - between) / self.counts.sum().clamp(min=1)
        return covariance

    def solution(self) -> tuple[Tensor, Tensor]:
        """Lambda mu_c, and minus half of mu_c^T Lambda mu_c."""
        means, covariance = self.means, self.covariance
        variance = covariance.diagonal().mean()
        variance = torch.where(variance > 0, variance, 1.0)
        shrunk = (1 - self.shrinkage) * covariance
        shrunk.diagonal().add_(self.shrinkage * variance)
        weight = torch.linalg.solve(shrunk, means.T).T
        return weight, -(weight * means).sum(dim=1) / 2

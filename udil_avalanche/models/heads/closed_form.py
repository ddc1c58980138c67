"""The base class of classifiers that are computed from sums over the samples."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

UNSEEN = -1e30
"""The bias of a class without samples: finite, so that a loss stays finite."""


class ClosedFormHead(nn.Module, ABC):
    """A linear classifier that a formula gives from sums over all samples seen so far.

    A sum does not depend on the order of its terms. So the classifier after all domains
    is the same in whatever order they came, and the same as if all samples had been
    there at once: nothing is forgotten. The sums are in double precision, so that the
    order does not show in their rounding either.

    :meth:`observe` takes samples, :meth:`fit` then computes the classifier. The sums
    are part of the saved state; a head that only predicts can do without them, see
    :meth:`drop_sums`.

    :param width: length of a feature vector.
    :param n_classes: number of classes.
    """

    SUMS: ClassVar[tuple[str, ...]] = ("counts", "sums")
    """The names of the sums."""

    counts: Tensor
    """Number of samples of each class."""

    sums: Tensor
    """Sum of the features of each class, a row for each."""

    def __init__(self, width: int, n_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, n_classes).requires_grad_(False)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        sums = torch.zeros(n_classes, width, dtype=torch.float64)
        self.register_buffer("counts", sums.new_zeros(n_classes))
        self.register_buffer("sums", sums)

    @property
    def means(self) -> Tensor:
        """Mean of the features of each class; 0 for a class without samples."""
        return self.sums / self.counts.clamp(min=1)[:, None]

    @torch.no_grad()
    def observe(self, features: Tensor, labels: Tensor) -> None:
        """Add samples to the sums.

        :param features: N x width.
        :param labels: the class of each.
        """
        features = features.double()
        self.counts += torch.bincount(labels, minlength=len(self.counts))
        self.sums.index_add_(0, labels, features)

    @torch.no_grad()
    def fit(self) -> None:
        """Compute the classifier from the sums."""
        weight, bias = self.solution()
        self.linear.weight.copy_(weight)
        self.linear.bias.copy_(bias.where(self.counts > 0, UNSEEN))

    def drop_sums(self) -> None:
        """Keep what predicting needs, and nothing that only learning needs."""
        for name in self.SUMS:
            delattr(self, name)

    @abstractmethod
    def solution(self) -> tuple[Tensor, Tensor]:
        """The weights, n_classes x width, and the biases of the classifier."""

    def forward(self, features: Tensor) -> Tensor:
        """The class logits.

        :param features: N x width.
        """
        logits: Tensor = self.linear(features)
        return logits

"""Nearest class mean."""

from torch import Tensor

from udil_avalanche.models.heads.closed_form import ClosedFormHead


class NearestClassMean(ClosedFormHead):
    r"""The class whose mean :math:`\mu_c` is nearest to the features x
    (`Mensink et al., TPAMI 2013
    <https://inria.hal.science/hal-00817211>`_).

    :math:`-\frac12 \|x - \mu_c\|^2` is :math:`\mu_c \cdot x - \frac12 \|\mu_c\|^2` and
    a term that is the same for all classes: a linear classifier.

    :param width: length of a feature vector.
    :param n_classes: number of classes.
    """

    def solution(self) -> tuple[Tensor, Tensor]:
        """The means, and minus half of their squared lengths."""
        means = self.means
        return means, -means.square().sum(dim=1) / 2

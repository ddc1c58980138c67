"""Definition 4.1: the classification loss."""

from torch import Tensor
from torch.nn import functional as F


def classification_loss(
    logits: Tensor, labels: Tensor, reduction: str = "mean"
) -> Tensor:
    r"""Cross-entropy between the true label and the predicted probabilities (Definition
    4.1):

    .. math::
        \hat\ell_X(h) = \frac{1}{|X|} \sum_{x \in X} -\log [h(x)]_{f(x)}

    :param logits: outputs of h before the softmax, one row per sample.
    :param labels: true classes.
    :param reduction: ``"mean"`` over the set X, or ``"none"`` for one loss per sample.
    """
    return F.cross_entropy(logits, labels, reduction=reduction)

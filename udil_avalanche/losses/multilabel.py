"""The multi-label losses of iCaRL: one binary classification per class."""

from torch import Tensor
from torch.nn import functional as F


def multilabel_classification_loss(
    logits: Tensor, labels: Tensor, reduction: str = "mean"
) -> Tensor:
    r""":math:`\hat\ell'_X(h)` of the paper's appendix B: binary cross-entropy of each
    class, summed over the classes.

    :param logits: outputs of h before the sigmoid, one row per sample.
    :param labels: true classes.
    :param reduction: ``"mean"`` over the set X, or ``"none"`` for one loss per sample.
    """
    targets = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    return _binary_cross_entropy(logits, targets, reduction)


def multilabel_distillation_loss(
    logits: Tensor, history_logits: Tensor, reduction: str = "mean"
) -> Tensor:
    r""":math:`\hat\ell'_X(h, H_{t-1})` of the paper's appendix B: the same, with the
    probabilities of the history model in place of the labels.

    :param logits: outputs of h before the sigmoid, one row per sample.
    :param history_logits: outputs of H_{t-1} on the same samples; no gradient flows
        into them.
    :param reduction: ``"mean"`` over the set X, or ``"none"`` for one loss per sample.
    """
    return _binary_cross_entropy(logits, history_logits.detach().sigmoid(), reduction)


def _binary_cross_entropy(logits: Tensor, targets: Tensor, reduction: str) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    per_sample = losses.sum(dim=1)
    return per_sample.mean() if reduction == "mean" else per_sample

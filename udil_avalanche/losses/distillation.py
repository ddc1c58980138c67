"""Definition 4.2: the distillation loss."""

from torch import Tensor
from torch.nn import functional as F


def distillation_loss(
    logits: Tensor, history_logits: Tensor, reduction: str = "mean"
) -> Tensor:
    r"""Cross-entropy between the history model's probabilities and the predicted ones,
    :math:`\hat\ell_X(h, H_{t-1})` of Definition 4.2.

    :param logits: outputs of h before the softmax, one row per sample.
    :param history_logits: outputs of H_{t-1} on the same samples; no gradient flows
        into them.
    :param reduction: ``"mean"`` over the set X, or ``"none"`` for one loss per sample.
    """
    targets = history_logits.detach().softmax(dim=1)
    return F.cross_entropy(logits, targets, reduction=reduction)

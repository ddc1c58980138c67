"""Definition 4.2: the distillation loss."""

from torch import Tensor
from torch.nn import functional as F


def distillation_loss(
    logits: Tensor,
    history_logits: Tensor,
    reduction: str = "mean",
    temperature: float = 1.0,
) -> Tensor:
    r"""Cross-entropy between the history model's probabilities and the predicted ones
    (Definition 4.2):

    .. math::
        \hat\ell_X(h, H_{t-1}) = \frac{1}{|X|} \sum_{x \in X}
            -\sum_{j=1}^K [H_{t-1}(x)]_j \log [h(x)]_j

    Of a sample that H_{t-1} was trained on, its probabilities at temperature 1 say
    hardly more than the label. A higher temperature also compares the other classes;
    the factor of its square keeps the size of the gradient where logits are small.

    :param logits: outputs of h before the softmax, one row per sample.
    :param history_logits: outputs of H_{t-1} on the same samples; no gradient flows
        into them.
    :param reduction: ``"mean"`` over the set X, or ``"none"`` for one loss per sample.
    :param temperature: divides all logits; the paper's formula has 1.
    """
    targets = (history_logits.detach() / temperature).softmax(dim=1)
    loss = F.cross_entropy(logits / temperature, targets, reduction=reduction)
    return temperature**2 * loss

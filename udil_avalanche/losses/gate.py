"""How far the history model is to be trusted with a sample of the current domain."""

from torch import Tensor


def history_gate(history_logits: Tensor, labels: Tensor) -> Tensor:
    r"""A weight in [0, 1] for each sample in the cross-domain term of (V_l): how far
    H_{t-1}'s probability of the true label is above chance,

    .. math::
        \max\Big(0, \frac{p_{H_{t-1}}(y | x) - 1/K}{1 - 1/K}\Big)

    for K classes. The cross-domain term keeps h near H_{t-1} on the current domain. The
    labels there say where H_{t-1} is wrong, and h should not follow it: without the
    gate, a model with many past domains is pulled back to wrong answers. The paper does
    not have it; the authors' code leaves the whole term out of a mini-batch whose loss
    exceeds a threshold that has to be chosen for each benchmark.

    :param history_logits: outputs of H_{t-1} before the softmax, one row per sample.
    :param labels: true classes.
    """
    probability = history_logits.detach().softmax(dim=1)
    chance = 1 / history_logits.shape[1]
    own = probability.gather(1, labels[:, None]).squeeze(1)
    return ((own - chance) / (1 - chance)).clamp(min=0)

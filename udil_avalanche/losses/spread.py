"""The unit in which embeddings are compared."""

from torch import Tensor


def spread(embeddings: Tensor) -> Tensor:
    r"""The mean squared distance of embeddings from their mean,
    :math:`E \| e(x) - E[e(x)] \|_2^2`.

    (V_p) and (V_s) are sums of squared distances, which grow with the width of the
    encoder and the scale of its outputs. Divided by the spread they do not, so that one
    weight in the objective suits every network.

    It is differentiable, and (V_s) needs that. With the spread as a constant, smaller
    embeddings would lower the loss at first, their spread would follow in the next
    step, and nothing would stop them from shrinking until all coincide.

    :param embeddings: e(x), one row per sample.
    """
    centred = embeddings - embeddings.mean(dim=0)
    return centred.pow(2).sum(dim=1).mean().clamp(min=1e-12)

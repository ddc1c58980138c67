"""How much the past and the domain that is learned weigh."""

import math

PAST_OF_A_NEW_DOMAIN = 2.0
"""The weight of all past domains together beside one to be learned from scratch."""


def known_share(error: float, n_classes: int) -> float:
    """q, the share of the current domain that H_{t-1} is right about, above chance: 0
    for a guess, 1 if it knows all.

    :param error: the 0-1 error of H_{t-1} on the current domain.
    :param n_classes: K, the number of classes.
    """
    return max(0.0, 1 - error * n_classes / max(1, n_classes - 1))


def novelty(known: float) -> float:
    """1 - q^2, how much of the current domain is new: 1 if nothing of it is known.

    (V_s) is multiplied by it. It shapes the embeddings of what has to be learned; in a
    domain that is nearly known, it would only press together what is right already, and
    the past would pay for that.

    :param known: q, see :func:`known_share`.
    """
    return 1 - known**2


def past_scale(t: int, known: float) -> float:
    r"""What the sums over past domains in the objective are multiplied by,
    :math:`(2 / t)^{1 - q^2}`.

    The paper's sum (a factor of 1) weighs every past domain like the current one. That
    is right if the current domain is nearly known: there is little to learn, and much
    to lose. If it has to be learned from scratch, t - 1 terms that hold the model where
    it is leave no room for that; the past domains together then weigh 2.

    :param t: the number of the current domain, from 2.
    :param known: q, see :func:`known_share`.
    """
    return math.pow(PAST_OF_A_NEW_DOMAIN / t, novelty(known))


def objective_scale(t: int, scale: float) -> float:
    """What the whole objective is multiplied by, so that the steps of SGD grow only
    with the root of its total weight: 1 if the past weighs 2, beside the 1 of the
    current domain.

    :param t: the number of the current domain, from 2.
    :param scale: the factor of the past domains, see :func:`past_scale`.
    """
    return math.sqrt((1 + PAST_OF_A_NEW_DOMAIN) / (1 + scale * (t - 1)))

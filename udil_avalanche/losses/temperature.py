"""The temperature of the distillations."""

import math

from torch import Tensor

HIGHEST_TEMPERATURE = 100.0
"""Logits a hundred times as large as usual still leave some doubt there."""

_HALVINGS = 30


def mean_doubt(logits: Tensor, temperature: float = 1.0) -> float:
    """The share of the probability that a model leaves to other classes than the
    likeliest, on average over its samples. It grows with the temperature.

    :param logits: outputs before the softmax, one row per sample.
    :param temperature: divides all logits.
    """
    likeliest = (logits / temperature).softmax(dim=1).amax(dim=1)
    return 1 - float(likeliest.mean())


def telling_temperature(history_logits: Tensor, doubt: float, lowest: float) -> float:
    """The temperature at which the answers of the history model tell more than the
    labels do: the lowest at which its :func:`mean_doubt` is at least ``doubt``.

    A network that has learned the samples in memory by heart is sure of each. Its
    answers are the labels then, and :func:`~udil_avalanche.losses.distillation_loss`
    is a second classification loss, until the temperature brings back how it ranks the
    other classes. How high that is depends on how long it was trained, on the width of
    the network and on the data.

    A class that a history model did not have gets no probability at any temperature.
    The higher the temperature, the more such answers would press the model's new
    classes down, so it stays the lowest if there are any. It also does where no
    temperature gives the doubt.

    :param history_logits: H_i(x) of the samples in memory, one row per sample; minus
        infinity for classes that H_i did not have.
    :param doubt: the share of the probability that is to be left to other classes.
    :param lowest: the temperature where no higher one is needed.
    """
    if mean_doubt(history_logits, lowest) >= doubt:
        return lowest
    lacks_classes = not history_logits.isfinite().all()
    if lacks_classes or mean_doubt(history_logits, HIGHEST_TEMPERATURE) < doubt:
        return lowest
    low, high = math.log(lowest), math.log(HIGHEST_TEMPERATURE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if mean_doubt(history_logits, math.exp(middle)) < doubt:
            low = middle
        else:
            high = middle
    return math.exp(high)

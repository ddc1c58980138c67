"""An average of the model's weights over its training, evaluated in its place."""

from udil_avalanche.plugins.shared.averaged_model import EmaModel, StableModelPlugin

WARMUP = 10


class AveragedWeightsPlugin(StableModelPlugin):
    """Keeps an exponential moving average of the model and evaluates it in the model's
    place.

    The steps of SGD leave a model somewhere around a minimum; the average of many steps
    is closer to it. Training does not see the average: the model goes on from its own
    weights. The average begins as a copy of the model at the start of the first domain
    and runs on from domain to domain. BatchNorm's statistics are averaged with the
    weights.

    A :class:`~udil_avalanche.plugins.HistoryModelPlugin` in the same strategy keeps
    the average as H_t. Methods with an average of their own, CLS-ER and ESM-ER, do not
    take a second one.

    Any strategy of Avalanche takes it::

        average = AveragedWeightsPlugin(decay=0.99)
        strategy = Naive(model=model, optimizer=optimizer, plugins=[average])
        strategy.train(benchmark.train_stream)
        strategy.eval(benchmark.test_stream)  # evaluates the average
        average.stable.model  # the average; strategy.model is the model that is trained

    :param decay: weight of the earlier average in each step; in step n, counted over
        all domains, at most n / (n + 10): the average is over about the last tenth of
        the steps so far, until ``decay`` limits it. A model that learns only for some
        steps would otherwise be an average with its random beginning.
    """

    def __init__(self, decay: float) -> None:
        super().__init__(EmaModel(decay, warmup=WARMUP))

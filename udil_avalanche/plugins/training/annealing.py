"""Smaller steps at the end of each domain."""

from typing import Any

from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.shared.stateful import StatefulPlugin


class AnnealingPlugin(StatefulPlugin):
    """Lowers the learning rate to a tenth over the last steps of each domain.

    Large steps keep a model from memorising the few samples in memory, but leave it
    somewhere around the minimum; a few smaller steps at the end bring it closer.

    In any strategy of Avalanche, here over the last tenth of each domain::

        plugins = [AnnealingPlugin(0.1)]
        strategy = Naive(model=model, optimizer=optimizer, plugins=plugins)

    :param share: the fraction of a domain's steps over which the rate falls, linearly.
    """

    lowest = 0.1
    saved = ("rates", "step")

    def __init__(self, share: float) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, not {share}.")
        self.share = share
        self.rates: list[float] = []
        """The learning rates at the start of the domain."""
        self.step = 0
        """Steps of the domain so far."""

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Remember the learning rates."""
        self.rates = [group["lr"] for group in strategy.optimizer.param_groups]
        self.step = 0

    def before_update(self, strategy: Strategy, **kwargs: Any) -> None:
        """Set the learning rates of this step."""
        self.step += 1
        left = 1 - self.step / (strategy.train_epochs * len(strategy.dataloader))
        fall = max(0.0, 1 - left / self.share)
        self._set(strategy, 1 - (1 - self.lowest) * fall)

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Restore the learning rates for the next domain."""
        self._set(strategy, 1.0)

    def _set(self, strategy: Strategy, factor: float) -> None:
        groups = strategy.optimizer.param_groups
        for group, rate in zip(groups, self.rates, strict=True):
            group["lr"] = factor * rate

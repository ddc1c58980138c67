"""Smaller steps at the end of each domain."""

from typing import Any

from avalanche.training.plugins import SupervisedPlugin


class AnnealingPlugin(SupervisedPlugin):
    """Lets the learning rate fall to a tenth over the last steps of each domain.

    Large steps keep a model from memorising the few samples in memory, but leave it
    somewhere around the minimum; a few smaller ones at the end bring it there.

    :param share: the share of a domain's steps over which the rate falls, linearly.
    """

    lowest = 0.1

    def __init__(self, share: float) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, not {share}.")
        self.share = share
        self._rates: list[float] = []
        self._step = 0

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Note the learning rates to start from."""
        self._rates = [group["lr"] for group in strategy.optimizer.param_groups]
        self._step = 0

    def before_update(self, strategy: Any, **kwargs: Any) -> None:
        """Set the learning rates of this step."""
        self._step += 1
        left = 1 - self._step / (strategy.train_epochs * len(strategy.dataloader))
        fall = max(0.0, 1 - left / self.share)
        self._set(strategy, 1 - (1 - self.lowest) * fall)

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Put the learning rates back for the next domain."""
        self._set(strategy, 1.0)

    def state_dict(self) -> dict[str, Any]:
        """The rates to start from, and the steps of the domain so far."""
        return {"rates": self._rates, "step": self._step}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self._rates, self._step = list(state["rates"]), state["step"]

    def _set(self, strategy: Any, factor: float) -> None:
        groups = strategy.optimizer.param_groups
        for group, rate in zip(groups, self._rates, strict=True):
            group["lr"] = factor * rate


__all__ = ["AnnealingPlugin"]

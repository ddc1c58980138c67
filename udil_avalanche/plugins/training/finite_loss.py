"""A stop where there is nothing to learn any more."""

import math
from typing import Any

from avalanche.training.plugins import SupervisedPlugin

from udil_avalanche.errors import RunError

STEPS_BETWEEN_LOOKS = 25
"""On a device other than the CPU, where a look waits for it."""


class FiniteLossPlugin(SupervisedPlugin):
    """Stops training when the loss is NaN or infinite, before the model takes the step.

    The message names the domain, the step, and those of the plugins' ``terms`` that are
    not finite, or else all of them with their values: the one that runs away first
    shows by its size. Put it after the plugins that add to the loss.

    :param advice: a line to end the message with.
    """

    def __init__(self, advice: str = "Try a smaller learning rate or weight") -> None:
        super().__init__()
        self.advice = advice

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Look at the loss.

        :raises RunError: if it is not finite.
        """
        step = strategy.clock.train_exp_iterations
        if strategy.device.type != "cpu" and step % STEPS_BETWEEN_LOOKS:
            return
        loss = float(strategy.loss.detach())
        if math.isfinite(loss):
            return
        terms = {
            name: float(value)
            for plugin in strategy.plugins
            for name, value in getattr(plugin, "terms", {}).items()
        }
        wrong = [name for name, value in terms.items() if not math.isfinite(value)]
        blamed = ", ".join(wrong) if wrong else "the loss of the mini-batch"
        sizes = ", ".join(f"{name} {value:.3g}" for name, value in terms.items())
        raise RunError(
            f"the loss is {loss} in step {step + 1} of domain "
            f"{strategy.clock.train_exp_counter + 1}, by {blamed}"
            + (f" ({sizes})" if sizes and not wrong else "")
            + f"\n{self.advice}"
        )


__all__ = ["FiniteLossPlugin"]

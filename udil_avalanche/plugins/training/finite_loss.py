"""Stops training when the loss is no longer finite."""

import math
from typing import Any

from udil_avalanche.errors import RunError
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy

STEPS_BETWEEN_CHECKS = 25
"""On a device other than the CPU, because each check waits for the device."""


class FiniteLossPlugin(Plugin):
    """Stops training when the loss is NaN or infinite, before the model takes the step.

    The message names the domain, the step, and the plugins' ``terms`` that are not
    finite. If all are finite, it lists their values: the one that diverges first is the
    large one. Put it after the plugins that add to the loss.

    ::

        plugins = [BalancedReplayPlugin(mem_size=400), FiniteLossPlugin()]
        strategy = Naive(model=model, optimizer=optimizer, plugins=plugins)

    :param advice: the last line of the message.
    """

    def __init__(self, advice: str = "Try a smaller learning rate or weight") -> None:
        super().__init__()
        self.advice = advice

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Check the loss.

        :raises RunError: if it is not finite.
        """
        step = strategy.clock.train_exp_iterations
        if strategy.device.type != "cpu" and step % STEPS_BETWEEN_CHECKS:
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
            f"{strategy.clock.train_exp_counter + 1}, due to {blamed}"
            + (f" ({sizes})" if sizes and not wrong else "")
            + f"\n{self.advice}"
        )

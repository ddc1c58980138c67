"""The state of a strategy: model, optimizer, plugins, metrics and clock."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from avalanche.training.templates import SupervisedTemplate

from udil_avalanche.plugins.shared.optimizer_state import (
    load_optimizer_state,
    optimizer_state,
)

CLOCK = (
    "train_iterations",
    "train_exp_counter",
    "train_exp_epochs",
    "train_exp_iterations",
    "train_epoch_iterations",
    "total_iterations",
)
"""The counters of Avalanche's clock."""


@runtime_checkable
class StatefulPlugin(Protocol):
    """A plugin that keeps something from one training iteration to the next."""

    def state_dict(self) -> dict[str, Any]:
        """What it keeps, in nested dictionaries and lists of tensors and plain values.

        What it works out anew in ``before_training_exp``, from the rest of the state,
        may be left out.
        """

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary, its tensors on the CPU.
        :param strategy: the strategy, its model loaded already.
        """


@runtime_checkable
class StatefulMetric(Protocol):
    """A metric that keeps something from one training iteration to the next."""

    def state_dict(self) -> dict[str, Any]:
        """What it keeps."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` returned."""


def strategy_state(strategy: SupervisedTemplate) -> dict[str, Any]:
    """All that a strategy needs to go on after an iteration, but for the data.

    :param strategy: its plugins are saved if they are :class:`StatefulPlugin`.
    """
    return {
        "model": strategy.model.state_dict(),
        "optimizer": optimizer_state(strategy.optimizer),
        "plugins": {
            name: plugin.state_dict()
            for name, plugin in _named(strategy.plugins, StatefulPlugin)
        },
        "metrics": {
            name: metric.state_dict()
            for name, metric in _named(strategy.evaluator.metrics, StatefulMetric)
        },
        "clock": {counter: getattr(strategy.clock, counter) for counter in CLOCK},
    }


def load_strategy_state(strategy: SupervisedTemplate, state: dict[str, Any]) -> None:
    """Let a strategy go on from what :func:`strategy_state` returned.

    :param strategy: a strategy that was made like the one that was saved.
    :param state: the state.
    :raises ValueError: if it is one of another strategy.
    """
    plugins = dict(_named(strategy.plugins, StatefulPlugin))
    metrics = dict(_named(strategy.evaluator.metrics, StatefulMetric))
    if state["plugins"].keys() != plugins.keys():
        raise ValueError(
            f"it is of {', '.join(state['plugins'])}, not of {', '.join(plugins)}"
        )
    strategy.model.to(strategy.device)
    if strategy.optimized_param_id is None:
        # Or Avalanche empties the optimizer when it sees the model for the first time.
        strategy.make_optimizer(reset_optimizer_state=True)
    strategy.model.load_state_dict(state["model"])
    load_optimizer_state(strategy.optimizer, state["optimizer"])
    for name, plugin in plugins.items():
        plugin.load_state_dict(state["plugins"][name], strategy)
    for name, metric in metrics.items():
        metric.load_state_dict(state["metrics"][name])
    for counter in CLOCK:
        setattr(strategy.clock, counter, state["clock"][counter])


def _named(candidates: list[Any], kind: type) -> Iterator[tuple[str, Any]]:
    """Those of a kind, by the names of their classes, which several may share."""
    seen: Counter[str] = Counter()
    for each in candidates:
        if isinstance(each, kind):
            name = type(each).__name__
            seen[name] += 1
            yield (name if seen[name] == 1 else f"{name} {seen[name]}"), each


__all__ = [
    "StatefulMetric",
    "StatefulPlugin",
    "load_strategy_state",
    "strategy_state",
]

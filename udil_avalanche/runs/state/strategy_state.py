"""The state of a strategy: model, optimizer, plugins, metrics and clock."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from udil_avalanche.plugins.shared.optimizer_state import (
    load_optimizer_state,
    optimizer_state,
)
from udil_avalanche.plugins.shared.plugin import Strategy


@runtime_checkable
class Stateful(Protocol):
    """A plugin or a metric that keeps something from one iteration to the next."""

    def state_dict(self) -> dict[str, Any]:
        """What it keeps, in nested dictionaries and lists of tensors and plain values.

        A plugin may leave out what ``before_training_exp`` computes from the rest.
        """

    def load_state_dict(self, state: dict[str, Any], *strategy: Any) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary, its tensors on the CPU.
        :param strategy: for a plugin, the strategy, with its model already loaded.
        """


def strategy_state(strategy: Strategy) -> dict[str, Any]:
    """Everything that a strategy needs to continue after an iteration, except the data.

    :param strategy: its plugins and metrics are saved if they are :class:`Stateful`.
    """
    plugins, metrics = _stateful(strategy)
    return {
        "model": strategy.model.state_dict(),
        "optimizer": optimizer_state(strategy.optimizer),
        "plugins": {name: plugin.state_dict() for name, plugin in plugins.items()},
        "metrics": {name: metric.state_dict() for name, metric in metrics.items()},
        "clock": dict(vars(strategy.clock)),
    }


def load_strategy_state(strategy: Strategy, state: dict[str, Any]) -> None:
    """Let a strategy continue from what :func:`strategy_state` returned.

    :param strategy: a strategy that was built like the one that was saved.
    :param state: the state.
    :raises ValueError: if it is the state of another strategy.
    """
    plugins, metrics = _stateful(strategy)
    if state["plugins"].keys() != plugins.keys():
        raise ValueError(
            f"it has {', '.join(state['plugins'])}, not {', '.join(plugins)}"
        )
    strategy.model.to(strategy.device)
    if strategy.optimized_param_id is None:
        # Otherwise Avalanche resets the optimizer when it first sees the model.
        strategy.make_optimizer(reset_optimizer_state=True)
    strategy.model.load_state_dict(state["model"])
    load_optimizer_state(strategy.optimizer, state["optimizer"])
    for name, plugin in plugins.items():
        plugin.load_state_dict(state["plugins"][name], strategy)
    for name, metric in metrics.items():
        metric.load_state_dict(state["metrics"][name])
    for counter in vars(strategy.clock):
        setattr(strategy.clock, counter, state["clock"][counter])


def _stateful(strategy: Strategy) -> Iterator[dict[str, Stateful]]:
    """The plugins and the metrics with a state, by the names of their classes; the
    second of a class is called ``<name> 2``."""
    for candidates in (strategy.plugins, strategy.evaluator.metrics):
        seen: Counter[str] = Counter()
        named = {}
        for each in candidates:
            if isinstance(each, Stateful):
                name = type(each).__name__
                seen[name] += 1
                named[name if seen[name] == 1 else f"{name} {seen[name]}"] = each
        yield named

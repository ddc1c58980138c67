"""The cost of saving the state of a run."""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from torch import Tensor

from bench.laps import seconds
from bench.scale import Scale
from bench.workload import PAPERS_FORMULAS, strategy_at_domain
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.generators import generator_states
from udil_avalanche.runs.state.strategy_state import strategy_state


def saving(scale: Scale) -> dict[str, float]:
    """Time and size of UDIL's state, with all its parts, after a domain of rotated
    MNIST, and the size of the tensors that it cannot do without: weights, history
    model, discriminator, the moments of both optimizers, and the memory.

    :param scale: how much to measure.
    """
    strategy, domain = strategy_at_domain(
        "UDIL", scale.t, scale.steps, root=scale.root, config=PAPERS_FORMULAS
    )
    strategy.train(domain)
    with tempfile.TemporaryDirectory() as scratch:
        states = StateFolder(Path(scratch, "state"))

        def save() -> None:
            state = strategy_state(strategy)
            states.write({"strategy": state, "generators": generator_states()})

        times = [seconds(save) for _ in range(scale.repeats)]
        needed = sum(map(_bytes, _needed(strategy)))
        return {
            "ms a state": 1000 * median(times),
            "MB": states.size / 1e6,
            "MB of its tensors": needed / 1e6,
            "to its tensors": states.size / needed,
        }


def _needed(strategy: Any) -> list[Tensor]:
    discriminator = strategy.discriminator
    return [
        *strategy.model.state_dict().values(),
        *strategy.history.model.state_dict().values(),
        *discriminator.network.state_dict().values(),
        *_moments(strategy.optimizer),
        *_moments(discriminator._optimizer),
        *strategy.replay.memory.fields,
    ]


def _moments(optimizer: Any) -> list[Tensor]:
    # Between domains the discriminator has none.
    if optimizer is None:
        return []
    return [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, Tensor)
    ]


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


__all__ = ["saving"]

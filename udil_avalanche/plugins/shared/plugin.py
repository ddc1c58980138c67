"""The base class of all plugins, and the part of a strategy that they use."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.optim import Optimizer

METHODS = "avalanche.training.supervised"
"""The package of Avalanche's own methods."""


class Clock(Protocol):
    """The counters of a strategy."""

    train_iterations: int
    train_exp_counter: int
    train_exp_epochs: int
    train_exp_iterations: int
    train_epoch_iterations: int


class Strategy(Protocol):
    """The part of Avalanche's ``SupervisedTemplate`` that this package uses. mypy does
    not see Avalanche's own types."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    plugins: list[Any]
    evaluator: Any
    clock: Clock
    experience: Any
    adapted_dataset: Any
    dataloader: Any
    train_epochs: int
    train_mb_size: int
    eval_mb_size: int
    mbatch: list[Tensor]
    mb_x: Tensor
    mb_y: Tensor
    mb_output: Tensor
    loss: Tensor
    _criterion: Callable[[Tensor, Tensor], Tensor]
    optimized_param_id: Any

    def train(self, experiences: Any) -> Any:
        """Learn one experience or several."""

    def make_optimizer(self, *, reset_optimizer_state: bool = False) -> None:
        """Tell the optimizer about the model's parameters."""


class Plugin(SupervisedPlugin):  # type: ignore[misc]
    """The base class of all plugins here."""

    needs_mini_batch: ClassVar[bool] = False
    """Whether it appends to the mini-batch, or relies on the embeddings of one forward
    pass over it. It then refuses strategies that build their own mini-batches."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, Tensor] = {}
        """What the last iteration added to the loss or measured, for logging."""

    def before_training(self, strategy: Strategy, **kwargs: Any) -> None:
        """Check that the plugin fits the strategy.

        :raises ValueError: if the strategy builds its own mini-batches and this plugin
            cannot work with them.
        """
        if self.needs_mini_batch and _builds_mini_batches(strategy):
            plugin, name = type(self).__name__, type(strategy).__name__
            raise ValueError(
                f"{plugin} does not work in the strategy {name}, which also adds "
                f"samples to the mini-batch: the two would mix up their samples. "
                f"Use {plugin} in a strategy that leaves the mini-batch as it is, such "
                f"as Naive, or use {name} without it."
            )


def _builds_mini_batches(strategy: Strategy) -> bool:
    """Whether it is one of Avalanche's methods with their own training loop or
    mini-batches, such as DER, ER_ACE or SCR."""
    return any(
        getattr(type(strategy), hook).__module__.startswith(METHODS)
        for hook in ("training_epoch", "_before_forward")
    )

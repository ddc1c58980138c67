"""Replay from a balanced memory."""

from dataclasses import dataclass
from typing import Any

import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor

from udil_avalanche.memory import BalancedMemory


@dataclass
class MemoryBatch:
    """The part of the current mini-batch that comes from the memory: its last rows."""

    n_current: int
    """Number of samples before it, those of the current domain."""

    positions: Tensor
    """Where in the memory its samples are."""

    domains: Tensor
    """Their domains, counted from 0."""


class BalancedReplayPlugin(SupervisedPlugin):
    """Experience replay with the paper's random balanced sampling.

    From the second domain on, a memory batch that is balanced over the past domains is
    appended to every mini-batch, so that one forward pass serves both. With Avalanche's
    ``Naive`` and nothing else this is ER.

    It differs from Avalanche's ``ReplayPlugin`` in that the memory owns its tensors
    (theirs keeps every past dataset alive), holds exactly floor(\\|M\\| / t) samples of
    each domain, and draws each memory batch anew instead of walking through the memory
    in epochs of its own. The dataset's ``eval`` transformations apply to what is
    stored.

    :param mem_size: \\|M\\|, samples over all domains. A memory of 0 never replays.
    :param batch_size_mem: memory samples in each mini-batch.
    :param class_balanced: share a domain's quota out evenly between its classes.
    """

    def __init__(
        self,
        mem_size: int = 400,
        batch_size_mem: int = 128,
        class_balanced: bool = False,
    ) -> None:
        super().__init__()
        if mem_size < 0 or batch_size_mem < 1:
            raise ValueError(
                "mem_size must not be negative and batch_size_mem must be positive, "
                f"but they are {mem_size} and {batch_size_mem}."
            )
        self.memory = BalancedMemory(mem_size, class_balanced)
        self.batch_size_mem = batch_size_mem
        self.batch: MemoryBatch | None = None
        """The memory's part of the current training mini-batch, if it has one."""

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Refuse a domain that the memory could not hold, before it is trained on."""
        if self.memory.max_size > 0:
            self.memory.quota(self.memory.n_domains + 1)

    def before_forward(self, strategy: Any, **kwargs: Any) -> None:
        """Append a memory batch to the mini-batch."""
        if len(self.memory) == 0:
            return
        positions = self.memory.sample(self.batch_size_mem)
        self.batch = MemoryBatch(
            n_current=len(strategy.mb_y),
            positions=positions,
            domains=self.memory.domains[positions],
        )
        strategy.mbatch = [
            torch.cat([field, stored[positions]])
            for field, stored in zip(strategy.mbatch, self.memory.fields, strict=True)
        ]

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """Forget the memory batch, so that no evaluation takes its data for one."""
        self.batch = None

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the domain that was learned into the memory."""
        if self.memory.max_size == 0:
            return
        dataset = strategy.experience.dataset.eval()
        labels = torch.as_tensor(list(dataset.targets))
        self.memory.add_domain(dataset, labels, strategy.device)


__all__ = ["BalancedReplayPlugin", "MemoryBatch"]

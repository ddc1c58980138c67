"""Replay from a balanced memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from udil_avalanche.plugins.shared.checks import positive
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


@dataclass
class MemoryBatch:
    """The part of the current mini-batch that comes from the memory: its last rows."""

    n_current: int
    """Number of samples before it, those of the current domain."""

    positions: Tensor
    """The positions of its samples in the memory."""

    domains: Tensor
    """Their domains, counted from 0."""


class BalancedReplayPlugin(MemoryPlugin):
    r"""Experience replay with the paper's random balanced sampling.

    From the second domain on, a memory batch that is balanced over the past domains is
    appended to every mini-batch, so that one forward pass serves both. With Avalanche's
    ``Naive`` and nothing else this is ER.

    It differs from Avalanche's ``ReplayPlugin`` in that the memory owns its tensors
    (theirs keeps every past dataset alive), holds exactly floor(\|M\| / t) samples of
    each domain, and draws every memory batch at random instead of iterating over the
    memory in epochs. The dataset's ``eval`` transformations apply to what is stored.

    ::

        replay = BalancedReplayPlugin(mem_size=400, batch_size_mem=128)
        strategy = Naive(model=model, optimizer=optimizer, plugins=[replay])

    :param mem_size: \|M\|, samples over all domains. A memory of 0 never replays.
    :param batch_size_mem: memory samples in each mini-batch.
    :param stratified: keep a domain's class frequencies in its part of the memory.
    :param reservoir: fill the memory by reservoir sampling instead, as ER does
        originally. It then replays from the second step on, from all domains so far and
        in proportion to the samples that it holds of them.
    """

    needs_mini_batch = True

    def __init__(
        self,
        mem_size: int = 400,
        batch_size_mem: int = 128,
        stratified: bool = False,
        reservoir: bool = False,
    ) -> None:
        super().__init__(mem_size, stratified, reservoir)
        self.batch_size_mem = positive("batch_size_mem", batch_size_mem)
        self.annotate: Callable[[Strategy, list[Tensor]], list[Tensor]] | None = None
        """Computes further fields to store with samples that enter the memory."""
        self.batch: MemoryBatch | None = None
        """The memory's part of the current training mini-batch, if it has one."""

    def annotations(self, strategy: Strategy, fields: list[Tensor]) -> list[Tensor]:
        """What :attr:`annotate` makes of samples that enter the memory.

        :param strategy: the strategy.
        :param fields: the samples: x, y and what follows.
        """
        return [] if self.annotate is None else self.annotate(strategy, fields)

    def before_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Append a memory batch to the mini-batch."""
        if len(self.memory) == 0:
            return
        positions = self.memory.sample(self.batch_size_mem)
        self.batch = MemoryBatch(
            n_current=len(strategy.mb_y),
            positions=positions,
            domains=self.memory.domains[positions],
        )
        self.append(strategy, positions)

    def n_current(self, strategy: Strategy) -> int:
        """Number of samples in the mini-batch that come from the current domain."""
        return len(strategy.mb_y) if self.batch is None else self.batch.n_current

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Forget the memory batch, so that evaluation does not use it."""
        self.batch = None

"""The base class of the methods with a memory."""

from typing import Any

import torch
from torch import Tensor

from udil_avalanche.data.attributes import values_of
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.memory.base import Memory
from udil_avalanche.memory.reservoir import ReservoirMemory
from udil_avalanche.plugins.shared.current_domain import CurrentDomain
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class MemoryPlugin(Plugin):
    r"""Fills a memory by the paper's random balanced sampling. Its subclasses decide
    how to use it.

    The memory owns its tensors and holds exactly floor(\|M\| / t) samples of each
    domain. The dataset's ``eval`` transformations apply to what is stored.

    Domains are told apart by the experiences that they come from, see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`. If the last
    domain goes on, its samples leave the memory until it is learned again. Then its
    share is drawn from all samples that it has had.

    :param mem_size: \|M\|, samples over all domains. A memory of 0 stays empty.
    :param stratified: keep a domain's class frequencies in its part of the memory.
    :param reservoir: fill the memory by reservoir sampling instead, in every step and
        with the samples as they are trained on.
    """

    def __init__(
        self,
        mem_size: int = 400,
        stratified: bool = False,
        reservoir: bool = False,
    ) -> None:
        super().__init__()
        if mem_size < 0:
            raise ValueError(f"mem_size must not be negative, but it is {mem_size}.")
        if reservoir and stratified:
            raise ValueError("A reservoir cannot be stratified by class: choose one.")
        self.memory: Memory = (
            ReservoirMemory(mem_size)
            if reservoir
            else BalancedMemory(mem_size, stratified)
        )
        self.domain = CurrentDomain()
        """The domain in training."""

    def annotations(self, strategy: Strategy, fields: list[Tensor]) -> list[Tensor]:
        """Further fields to store with samples that enter the memory: none by default.

        :param strategy: the strategy.
        :param fields: the samples: x, y and what follows.
        """
        return []

    def append(self, strategy: Strategy, *draws: Tensor) -> None:
        """Append samples of the memory to the mini-batch.

        :param strategy: the strategy.
        :param draws: positions in the memory.
        """
        strategy.mbatch = [
            torch.cat([field, *(stored.index_select(0, draw) for draw in draws)])
            for field, stored in zip(strategy.mbatch, self.memory.fields, strict=False)
        ]

    def n_current(self, strategy: Strategy) -> int:
        """Number of samples in the mini-batch that come from the current domain."""
        return len(strategy.mb_y)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Refuse a domain that the memory has no room for, before it is trained on."""
        if self.domain.begin(strategy.experience):
            self.memory.reopen_domain()
        else:
            self.memory.start_domain()

    def after_update(self, strategy: Strategy, **kwargs: Any) -> None:
        """Offer the samples of the step to a reservoir."""
        if isinstance(self.memory, ReservoirMemory) and self.memory.max_size > 0:
            n = self.n_current(strategy)
            fields = [field[:n] for field in strategy.mbatch]
            self.memory.add(fields + self.annotations(strategy, fields))

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Store samples of the domain that was learned."""
        if isinstance(self.memory, BalancedMemory) and self.memory.max_size > 0:
            self._store(self.memory, strategy)
        self.domain.finish(strategy.experience)

    def _store(self, memory: BalancedMemory, strategy: Strategy) -> None:
        def annotate(fields: list[Tensor]) -> list[Tensor]:
            return self.annotations(strategy, fields)

        if not self.domain.brings_samples:
            memory.close_domain(annotate)
            return
        if self.domain.replaces_parts:
            memory.drop_reopened()
        dataset = strategy.experience.dataset.eval()
        labels = _labels(dataset, memory.stratified)
        memory.add_domain(dataset, labels, strategy.device, annotate)

    def state_dict(self) -> dict[str, Any]:
        """The memory."""
        return {"memory": self.memory.state_dict()}

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.memory.load_state_dict(state["memory"], strategy.device)
        self.domain.forget()


def _labels(dataset: Any, needed: bool) -> Tensor:
    """The classes of a dataset. One without ``targets`` has to be read whole for them,
    and is only if they are needed."""
    targets = getattr(dataset, "targets", None)
    if targets is not None:
        return values_of(targets)
    if not needed:
        return torch.zeros(len(dataset), dtype=torch.int64)
    return torch.tensor([int(dataset[i][1]) for i in range(len(dataset))])

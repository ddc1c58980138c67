"""A memory with the same number of samples of every past domain."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, default_collate

from udil_avalanche.memory.base import Memory


class BalancedMemory(Memory):
    r"""Random balanced sampling (Algorithm 2 of the paper): after domain t, exactly
    floor(\|M\| / t) samples of each of the t domains.

    A domain with fewer samples than its quota keeps all of them. The samples are in
    ascending order of domain.

    :class:`~udil_avalanche.BalancedReplayPlugin` keeps one, as its ``memory``, and
    replays from it.

    :param max_size: \|M\|, samples over all domains.
    :param class_balanced: also divide a domain's quota evenly between its classes, as
        far as they have enough samples.
    """

    updated_every_step = False

    def __init__(self, max_size: int, class_balanced: bool = False) -> None:
        super().__init__(max_size)
        self.class_balanced = class_balanced

    def quota(self, n_domains: int) -> int:
        """Samples that each of ``n_domains`` domains may keep.

        :raises ValueError: if there is no room for even one.
        """
        quota = self.max_size // n_domains
        if quota == 0:
            raise ValueError(
                f"A memory of {self.max_size} samples cannot hold {n_domains} domains. "
                f"Give it room for at least one sample per domain."
            )
        return quota

    def start_domain(self) -> None:
        """Refuse a domain that the memory has no room for.

        :raises ValueError: if there is no room, unless the memory is meant to be empty.
        """
        if self.max_size > 0:
            self.quota(self.n_domains + 1)

    def add_domain(
        self,
        dataset: Dataset[Any],
        labels: Tensor,
        device: torch.device,
        annotate: Callable[[list[Tensor]], list[Tensor]] | None = None,
    ) -> None:
        """Store samples of a new domain and remove some of the older ones at random.

        :param dataset: its samples, tuples of x, y and what follows.
        :param labels: the class of each sample of ``dataset``.
        :param device: where to keep the memory.
        :param annotate: computes further fields to store with the new samples, such as
            a model's outputs, from the fields that they have.
        """
        quota = self.quota(self.n_domains + 1)
        kept = [
            members[self._choose(self.labels[members], quota)]
            for members in (
                torch.nonzero(self.domains == i).squeeze(1)
                for i in range(self.n_domains)
            )
        ]
        chosen = self._choose(labels, quota)
        new = default_collate([dataset[int(i)] for i in chosen])
        new = [field.to(device) for field in new]
        if annotate is not None:
            new += annotate(new)

        if self.n_domains == 0:
            self.fields = new
        else:
            old = torch.cat(kept)
            self.fields = [
                torch.cat([field[old], added])
                for field, added in zip(self.fields, new, strict=True)
            ]
            self.domains = self.domains[old]
        ids = torch.full((len(chosen),), self.n_domains, device=device)
        self.domains = torch.cat([self.domains.to(device), ids])
        self.n_domains += 1

    def sample(self, size: int) -> Tensor:
        """Draw a memory batch that is balanced over the domains, without replacement.

        Where ``size`` is not a multiple of the number of domains, randomly chosen
        domains give one sample more. Where a domain has too few samples, the others
        give more.

        :param size: samples to draw; the whole memory if it holds fewer.
        :return: their positions in the memory, in ascending order of domain.
        """
        if size >= len(self):
            return torch.arange(len(self), device=self.domains.device)
        device = self.domains.device
        shuffled = torch.argsort(self.domains + torch.rand(len(self), device=device))
        first = torch.searchsorted(
            self.domains, torch.arange(self.n_domains, device=device)
        )
        rank = torch.arange(len(self), device=device) - first[self.domains]
        # The first of every domain, then the second of every domain, and so on.
        in_turn = torch.argsort(rank + torch.rand(len(self), device=device))
        return shuffled[in_turn[:size].sort().values]

    def _choose(self, labels: Tensor, size: int) -> Tensor:
        """Positions of ``size`` random samples, balanced by class if requested."""
        order = torch.randperm(len(labels), device=labels.device)
        if self.class_balanced:
            one_hot = labels[order][:, None] == torch.unique(labels)
            turn = (one_hot.cumsum(dim=0) * one_hot).sum(dim=1)
            order = order[turn.argsort(stable=True)]
        return order[:size]

"""A memory with the same number of samples of every past domain."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, default_collate

from udil_avalanche.memory.base import Memory
from udil_avalanche.memory.draw import Draw, draw, merged, order_by_share

Annotate = Callable[[list[Tensor]], list[Tensor]]
"""Computes further fields to store with samples from the fields that they have."""


class BalancedMemory(Memory):
    r"""Random balanced sampling (Algorithm 2 of the paper): after domain t, exactly
    floor(\|M\| / t) samples of each of the t domains.

    A domain with fewer samples than its quota keeps all of them. The samples are in
    ascending order of domain.

    :class:`~udil_avalanche.BalancedReplayPlugin` keeps one, as its ``memory``, and
    replays from it.

    :param max_size: \|M\|, samples over all domains.
    :param stratified: a domain's samples in memory have its class frequencies, up to
        rounding; otherwise they are drawn whatever their classes. Equal shares for all
        classes would teach other frequencies than the domain has.
    """

    updated_every_step = False

    def __init__(self, max_size: int, stratified: bool = False) -> None:
        super().__init__(max_size)
        self.stratified = stratified
        self._last: Draw | None = None
        self._n_own_fields = 0
        self._taken_out: list[Tensor] = []

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
        if self._taken_out:
            self._put(self._taken_out)
        self._last = None
        if self.max_size > 0:
            self.quota(self.n_domains + 1)

    def reopen_domain(self) -> None:
        """Take the samples of the last domain out, as it goes on: it is no past domain
        yet. They come back by :meth:`add_domain` or :meth:`close_domain`.
        """
        if self._last is None or self._taken_out:
            return
        self.n_domains -= 1
        past = self.domains < self.n_domains
        self._taken_out = [field[~past] for field in self.fields]
        self.fields = [field[past] for field in self.fields]
        self.domains = self.domains[past]

    def close_domain(self, annotate: Annotate | None = None) -> None:
        """Put the samples back that :meth:`reopen_domain` took out: the domain had no
        others.

        :param annotate: computes their further fields again.
        """
        fields = self._taken_out[: self._n_own_fields]
        self._put(fields + ([] if annotate is None else annotate(fields)))

    def drop_reopened(self) -> None:
        """Forget what :meth:`reopen_domain` took out: the whole domain follows."""
        self._taken_out, self._last = [], None

    def add_domain(
        self,
        dataset: Dataset[Any],
        labels: Tensor,
        device: torch.device,
        annotate: Annotate | None = None,
    ) -> None:
        """Store samples of a new domain and remove some of the older ones at random.
        After :meth:`reopen_domain`, those of the last domain are drawn again from all
        that it has had.

        :param dataset: its samples, tuples of x, y and what follows.
        :param labels: the class of each sample of ``dataset``.
        :param device: where to keep the memory.
        :param annotate: computes further fields to store with the new samples, such as
            a model's outputs, from the fields that they have.
        """
        quota = self.quota(self.n_domains + 1)
        if self.n_domains > 0 and int(self.counts.max()) > quota:
            kept = self._thinned(quota)
            self.fields = [field[kept] for field in self.fields]
            self.domains = self.domains[kept]
        before = [field.cpu() for field in self._taken_out[: self._n_own_fields]]
        if before and self._last is not None:
            self._last = merged(self._last, before[1], labels, quota, self.stratified)
            n_before, chosen = len(before[1]), self._last.positions
            old, further = chosen[chosen < n_before], chosen[chosen >= n_before]
            parts = [[field[old] for field in before]]
            if len(further):
                parts.append(_samples(dataset, further - n_before))
            new = [torch.cat(fields) for fields in zip(*parts, strict=True)]
        else:
            self._last = draw(labels, quota, self.stratified)
            new = _samples(dataset, self._last.positions)
        new = [field.to(device) for field in new]
        self._n_own_fields = len(new)
        if annotate is not None:
            new += annotate(new)
        self._put(new)

    def _put(self, new: list[Tensor]) -> None:
        """Append the samples of one more domain."""
        ids = torch.full((len(new[1]),), self.n_domains, device=new[1].device)
        if self.n_domains == 0:
            self.fields, self.domains = new, ids
        else:
            pairs = zip(*self.with_width_of(new), strict=True)
            self.fields = [torch.cat(pair) for pair in pairs]
            self.domains = torch.cat([self.domains, ids])
        self._taken_out = []
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

    def _thinned(self, quota: int) -> Tensor:
        """Positions of ``quota`` random samples of each domain, stratified by class if
        requested. Only the random orders are made domain by domain: a thousand domains
        would take long otherwise."""
        device, counts = self.domains.device, self.counts
        orders = [torch.randperm(n, device=device) for n in counts.tolist()]
        first = (counts.cumsum(0) - counts)[self.domains]
        order = torch.cat(orders) + first
        if self.stratified:
            _, classes = torch.unique(self.labels[order], return_inverse=True)
            groups = self.domains * (int(classes.max()) + 1) + classes
            by_share = order_by_share(groups, torch.bincount(groups))
            order = order[by_share[self.domains[by_share].argsort(stable=True)]]
        rank = torch.arange(len(self), device=device) - first
        return order[rank < quota]

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where to keep the memory.
        """
        super().load_state_dict(state, device)
        self.drop_reopened()


def _samples(dataset: Dataset[Any], positions: Tensor) -> list[Tensor]:
    return list(default_collate([dataset[int(i)] for i in positions]))

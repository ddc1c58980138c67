"""A memory that samples enter while a domain is learned."""

from typing import Any

import torch
from torch import Tensor

from udil_avalanche.memory.base import Memory


class ReservoirMemory(Memory):
    r"""Reservoir sampling (Vitter, 1985): at any time, each sample seen so far is in
    the memory with the same probability.

    How many samples of a domain it holds is random, and on average proportional to the
    samples seen of that domain. A sample seen in several epochs counts several times.

    :class:`~udil_avalanche.BalancedReplayPlugin` and :class:`~udil_avalanche.DERPlugin`
    keep one if ``reservoir`` is true.

    :param max_size: \|M\|, samples over all domains.
    """

    updated_every_step = True

    def __init__(self, max_size: int) -> None:
        super().__init__(max_size)
        self.n_seen = 0
        """Samples seen so far."""

    def start_domain(self) -> None:
        """Count the samples that follow as those of a new domain."""
        self.n_domains += 1

    def reopen_domain(self) -> None:
        """Count the samples that follow as those of the last domain."""

    def add(self, fields: list[Tensor]) -> None:
        """Offer samples of the current domain to the memory.

        :param fields: x, y and what follows, one row per sample.
        """
        domains = torch.full_like(fields[1], self.n_domains - 1)
        free = self.max_size - len(self)
        if self.n_seen > 0:
            self.fields, fields = self.with_width_of(fields)
        rows = [*fields, domains]
        if self.n_seen == 0:
            *self.fields, self.domains = (field[:free].clone() for field in rows)
        elif free > 0:
            *self.fields, self.domains = (
                torch.cat([stored, field[:free]])
                for stored, field in zip(self._rows, rows, strict=True)
            )
        self.n_seen += min(free, len(domains))
        self._replace([field[free:] for field in rows])

    @property
    def _rows(self) -> list[Tensor]:
        return [*self.fields, self.domains]

    def _replace(self, rows: list[Tensor]) -> None:
        r"""Replace stored samples by new ones, the n-th sample seen with probability
        \|M\| / n."""
        n = self.n_seen + 1 + torch.arange(len(rows[0]))
        self.n_seen += len(rows[0])
        places = (torch.rand(len(n), dtype=torch.float64) * n).long().tolist()
        # If two samples get the same place, the later one keeps it.
        chosen = {place: row for row, place in enumerate(places)}
        chosen = {p: row for p, row in chosen.items() if p < self.max_size}
        at, taken = list(chosen), list(chosen.values())
        for stored, new in zip(self._rows, rows, strict=True):
            stored[at] = new[taken]

    def sample(self, size: int) -> Tensor:
        """Draw a memory batch without replacement.

        :param size: samples to draw; the whole memory if it holds fewer.
        :return: their positions in the memory.
        """
        order = torch.randperm(len(self), device=self.domains.device)
        return order[:size]

    def state_dict(self) -> dict[str, Any]:
        """The samples, their domains, and how many were seen."""
        return {**super().state_dict(), "n_seen": self.n_seen}

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where to keep the memory.
        """
        super().load_state_dict(state, device)
        self.n_seen = state["n_seen"]

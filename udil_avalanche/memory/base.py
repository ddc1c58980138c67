"""The base class of the memory banks."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F


class Memory(ABC):
    r"""Samples of past domains, copied into tensors: no reference to a past dataset
    remains.

    :param max_size: \|M\|, samples over all domains.
    """

    updated_every_step: ClassVar[bool]
    """Whether samples enter while a domain is learned, or only at its end."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.fields: list[Tensor] = []
        """The samples, one tensor per field of the dataset: x, y and what follows."""
        self.domains = torch.zeros(0, dtype=torch.int64)
        """The domain of each sample, counted from 0."""
        self.n_domains = 0
        """Number of domains that samples were taken from."""

    def __len__(self) -> int:
        return len(self.domains)

    def with_width_of(self, new: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The stored fields and those of samples to be added, with the same number of
        values per sample. Outputs that are stored with the samples may have got more,
        for further classes of the model; they are filled up by NaN.

        :param new: the fields of the samples to be added.
        """
        pairs = [
            _same_width(stored, added)
            for stored, added in zip(self.fields[1:], new[1:], strict=True)
        ]
        stored, added = ([each[k] for each in pairs] for k in (0, 1))
        return [self.fields[0], *stored], [new[0], *added]

    @property
    def labels(self) -> Tensor:
        """The class of each sample."""
        return self.fields[1]

    @property
    def counts(self) -> Tensor:
        """Number of samples of each domain."""
        return torch.bincount(self.domains, minlength=self.n_domains)

    @abstractmethod
    def start_domain(self) -> None:
        """Prepare for a new domain."""

    @abstractmethod
    def reopen_domain(self) -> None:
        """Prepare for more samples of the last domain."""

    @abstractmethod
    def sample(self, size: int) -> Tensor:
        """Draw a memory batch without replacement.

        :param size: samples to draw; the whole memory if it holds fewer.
        :return: their positions in the memory.
        """

    def state_dict(self) -> dict[str, Any]:
        """The samples and their domains."""
        return {
            "fields": self.fields,
            "domains": self.domains,
            "n_domains": self.n_domains,
        }

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where to keep the memory.
        """
        self.fields = [field.to(device) for field in state["fields"]]
        self.domains = state["domains"].to(device)
        self.n_domains = state["n_domains"]


def _same_width(stored: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    if stored.shape[1:] == added.shape[1:]:
        return stored, added
    width = max(stored.shape[-1], added.shape[-1])
    stored, added = (
        F.pad(each, (0, width - each.shape[-1]), value=torch.nan)
        for each in (stored, added)
    )
    return stored, added

"""The base class of the memory banks."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor


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

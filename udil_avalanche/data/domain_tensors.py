"""The samples of one domain as tensors."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.data import Dataset


class LastUsed:
    """A cache for the inputs of one domain, the one that was used last.

    The training domains of a benchmark share one: they are used one after the other,
    and all of them together would fill the memory of a small machine.
    """

    def __init__(self) -> None:
        self._owner: object = None
        self._value = torch.zeros(0)

    def holds(self, owner: object) -> bool:
        """Whether the inputs are those of ``owner``."""
        return self._owner is owner

    def get(self, owner: object, make: Callable[[], Tensor]) -> Tensor:
        """The inputs of ``owner``, computed unless they are cached."""
        if not self.holds(owner):
            # Free the old inputs before the new ones are made.
            self._owner, self._value = None, torch.zeros(0)
            self._value = make()
            self._owner = owner
        return self._value


class DomainTensors(Dataset[tuple[Tensor, int]]):
    """The samples of one domain. Its inputs are made in bulk when first needed.

    :func:`~udil_avalanche.domain_of` makes one of inputs that exist already.

    :param make_inputs: makes all inputs; 8-bit images become floats in [0, 1] batch by
        batch.
    :param labels: the class of each sample.
    :param slot: caches the inputs.
    :param make_some: makes only the inputs at given positions, if that is possible.
    :param content: tells the inputs from others that have the same labels, by which a
        resumed run knows its data.
    """

    def __init__(
        self,
        make_inputs: Callable[[], Tensor],
        labels: Tensor,
        slot: LastUsed,
        make_some: Callable[[Tensor], Tensor] | None = None,
        content: str = "",
    ) -> None:
        self._make_inputs = make_inputs
        self._make_some = make_some
        self._slot = slot
        self.content = content
        self.labels = labels
        self.targets: list[int] = labels.tolist()
        """The labels in the form that Avalanche expects."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> Tensor:
        """All inputs, as they are stored."""
        return self._slot.get(self, self._make_checked_inputs)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of one input; ``None`` unless the inputs are cached."""
        return tuple(self.inputs.shape[1:]) if self._slot.holds(self) else None

    def _make_checked_inputs(self) -> Tensor:
        inputs = self._make_inputs()
        if len(inputs) != len(self):
            raise ValueError(
                f"A domain has {len(inputs)} inputs but {len(self)} labels: each input "
                "needs one."
            )
        return inputs

    def some_inputs(self, indices: Tensor) -> Tensor:
        """The inputs at a few positions, as they are stored. If possible, the cache
        keeps the domain that it holds."""
        if self._make_some is None or self._slot.holds(self):
            return self.inputs.index_select(0, indices)
        return self._make_some(indices)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return _as_float(self.inputs[index]), self.targets[index]

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The samples at ``indices``, all at once."""
        # Several times as fast as inputs[indices].
        inputs = self.inputs.index_select(0, indices)
        return _as_float(inputs), self.labels[indices]


def domain_of(inputs: Tensor, labels: Tensor) -> DomainTensors:
    """The samples of a domain whose inputs exist already.

    One domain of a :class:`~udil_avalanche.DomainScenario`::

        domain = domain_of(torch.randn(90, 4), torch.randint(3, (90,)))

    :param inputs: all inputs.
    :param labels: the class of each sample.
    """
    domain = DomainTensors(partial(_itself, inputs), labels, LastUsed())
    # Check the inputs now: a benchmark compares their shapes.
    _ = domain.inputs
    return domain


def _itself(inputs: Tensor) -> Tensor:
    return inputs


def _as_float(inputs: Tensor) -> Tensor:
    if inputs.dtype != torch.uint8:
        return inputs
    return inputs.to(torch.get_default_dtype()).div_(255)

"""Domains that live in memory as tensors, as datasets and streams of Avalanche."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from avalanche.benchmarks import CLScenario, benchmark_from_datasets, with_task_labels
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from torch import Tensor
from torch.utils.data import Dataset


class OneSlot:
    """Holds the inputs of the domain that was used last, and of no other.

    The training domains of a benchmark share one: they are used one after the other,
    and twenty of them would fill the memory of a small machine.
    """

    def __init__(self) -> None:
        self._owner: object = None
        self._value = torch.zeros(0)

    def get(self, owner: object, make: Callable[[], Tensor]) -> Tensor:
        """The inputs of ``owner``, made now unless they were the last to be used."""
        if self._owner is not owner:
            # Let go of the old inputs before the new ones are made.
            self._owner, self._value = None, torch.zeros(0)
            self._value = make()
            self._owner = owner
        return self._value


class DomainTensors(Dataset):
    """The samples of one domain. Its inputs are made in bulk when first needed.

    :param make_inputs: makes all inputs; 8-bit images become floats in [0, 1] batch by
        batch.
    :param labels: the class of each sample.
    :param slot: keeps the inputs.
    """

    def __init__(
        self, make_inputs: Callable[[], Tensor], labels: Tensor, slot: OneSlot
    ) -> None:
        self._make_inputs = make_inputs
        self._slot = slot
        self.labels = labels
        self.targets: list[int] = labels.tolist()
        """The labels in the form in which Avalanche looks for them."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def inputs(self) -> Tensor:
        """All inputs, as they are stored."""
        return self._slot.get(self, self._make_inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return _as_float(self.inputs[index]), self.targets[index]

    def batch(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The samples at ``indices``, in one go."""
        return _as_float(self.inputs[indices]), self.labels[indices]


def domain_of(inputs: Tensor, labels: Tensor) -> DomainTensors:
    """The samples of a domain whose inputs are there already.

    :param inputs: all inputs.
    :param labels: the class of each sample.
    """
    return DomainTensors(partial(_itself, inputs), labels, OneSlot())


def _itself(inputs: Tensor) -> Tensor:
    return inputs


def _as_float(inputs: Tensor) -> Tensor:
    return inputs.float().div_(255) if inputs.dtype == torch.uint8 else inputs


class TensorSource(NamedTuple):
    """Where the samples of an Avalanche dataset come from."""

    domain: DomainTensors
    """The tensors."""

    indices: Tensor
    """The positions in them that belong to the dataset, in its order."""


def tensor_source(dataset: AvalancheDataset) -> TensorSource | None:
    """The tensors behind an Avalanche dataset.

    Avalanche offers no way to ask for many samples at once, so this looks into its
    dataset's parts.

    :return: ``None`` unless it is a domain of tensors or a subset of one, without
        transformations on top: then the samples have to be asked for one by one.
    """
    flat = dataset._flat_data
    for groups in (flat._transform_groups, flat._frozen_transform_groups):
        if groups.transform_groups.get(groups.current_group) is not None:
            return None
    if len(flat._datasets) != 1 or not isinstance(flat._datasets[0], DomainTensors):
        return None
    if flat._indices is None:
        indices = torch.arange(len(flat))
    else:
        indices = torch.as_tensor(list(flat._indices))
    return TensorSource(flat._datasets[0], indices)


class Domain(Protocol):
    """The samples of one domain, however they are kept."""

    targets: list[int]

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[Tensor, int]: ...


class DomainScenario(CLScenario):
    """An Avalanche benchmark whose experiences are domains with the same classes.

    All samples have task label 0, so that nothing tells the domains apart.

    :param train: training domains, in order.
    :param test: the domain to test on for each of them.
    :param n_classes: number of classes.
    :param data: what the data are, e.g. ``"mnist"``.
    :param details: what else a run should keep of them, by name.
    """

    def __init__(
        self,
        *,
        train: Sequence[Domain],
        test: Sequence[Domain],
        n_classes: int,
        data: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        streams: dict[str, Any] = {
            name: [
                _make_taskaware_classification_dataset(domain, task_labels=0)
                for domain in domains
            ]
            for name, domains in (("train", train), ("test", test))
        }
        labelled = with_task_labels(benchmark_from_datasets(**streams))
        super().__init__(labelled.streams.values())
        self.n_classes = n_classes
        self.input_shape = tuple(test[0][0][0].shape)
        """Shape of one input."""
        self.data = data
        self.details = dict(details or {})


__all__ = [
    "Domain",
    "DomainScenario",
    "DomainTensors",
    "OneSlot",
    "TensorSource",
    "domain_of",
    "tensor_source",
]

"""Domains that live in memory as tensors, as datasets and streams of Avalanche."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

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

    def held_of(self, owner: object) -> Tensor | None:
        """The inputs of ``owner``, if they were the last to be used."""
        return self._value if self._owner is owner else None


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
        return self._slot.get(self, self._make_checked_inputs)

    def _make_checked_inputs(self) -> Tensor:
        inputs = self._make_inputs()
        if len(inputs) != len(self):
            raise ValueError(
                f"A domain has {len(inputs)} inputs but {len(self)} labels: each input "
                "needs one."
            )
        return inputs

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of one input; ``None`` while they have not been made."""
        held = self._slot.held_of(self)
        return None if held is None else tuple(held.shape[1:])

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
    domain = DomainTensors(partial(_itself, inputs), labels, OneSlot())
    # Now rather than when it is trained on: a benchmark compares the shapes.
    _ = domain.inputs
    return domain


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


class DomainScenario(CLScenario):
    """An Avalanche benchmark whose experiences are domains with the same classes.

    All samples have task label 0, so that nothing tells the domains apart.

    :param train: training domains, in order.
    :param test: the domain to test on for each of them.
    :param n_classes: number of classes.
    :param data: what the data are, e.g. ``"mnist"``.
    """

    def __init__(
        self,
        *,
        train: Sequence[DomainTensors],
        test: Sequence[DomainTensors],
        n_classes: int,
        data: str,
    ) -> None:
        _check_domains(train, test, n_classes)
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


def _check_domains(
    train: Sequence[DomainTensors], test: Sequence[DomainTensors], n_classes: int
) -> None:
    """Refuse what would fail, or mislead, in the middle of a run."""
    if not train or len(train) != len(test):
        raise ValueError(
            f"There are {len(train)} training and {len(test)} test domains; there must "
            "be as many of each, and at least one."
        )
    shapes = {}
    for kind, domains in (("training", train), ("test", test)):
        for t, domain in enumerate(domains, start=1):
            if len(domain) == 0:
                raise ValueError(f"The {kind} data of domain {t} are empty.")
            low, high = int(domain.labels.min()), int(domain.labels.max())
            if low < 0 or high >= n_classes:
                raise ValueError(
                    f"The {kind} labels of domain {t} range from {low} to {high}, but "
                    f"with {n_classes} classes they are 0 to {n_classes - 1}."
                )
            if domain.shape is not None:
                shapes[domain.shape] = f"the {kind} data of domain {t}"
    if len(shapes) > 1:
        found = ", ".join(f"{shape} in {where}" for shape, where in shapes.items())
        raise ValueError(f"The inputs differ in their shape: {found}.")


__all__ = [
    "DomainScenario",
    "DomainTensors",
    "OneSlot",
    "TensorSource",
    "domain_of",
    "tensor_source",
]

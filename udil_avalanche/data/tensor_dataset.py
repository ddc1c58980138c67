"""Avalanche datasets of tensors, which give whole mini-batches at once."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.classification_dataset import (
    TaskAwareSupervisedClassificationDataset,
    _make_taskaware_classification_dataset,
)
from torch import Tensor
from torch.utils.data import default_collate

from udil_avalanche.data.attributes import sample_attributes
from udil_avalanche.data.domain_tensors import DomainTensors, domain_of


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

    Samples of several domains, or few of a domain's, are copied together, 8-bit images
    as such: a walk across domains in random order would otherwise make a domain for
    almost every sample.

    :return: ``None`` unless it is made of domains of tensors, without transformations
        on top: then the samples have to be asked for one by one.
    """
    if not _is_made_of_tensors(dataset):
        return None
    flat = dataset._flat_data
    if flat._indices is None:
        indices = torch.arange(len(flat))
    else:
        indices = torch.as_tensor(list(flat._indices))
    if len(flat._datasets) == 1 and 2 * len(indices) >= len(flat._datasets[0]):
        return TensorSource(flat._datasets[0], indices)
    return TensorSource(_gathered(flat._datasets, indices), torch.arange(len(indices)))


def _is_made_of_tensors(dataset: AvalancheDataset) -> bool:
    flat = dataset._flat_data
    transformed = any(
        groups.transform_groups.get(groups.current_group) is not None
        for groups in (flat._transform_groups, flat._frozen_transform_groups)
    )
    domains = flat._datasets
    return not transformed and all(isinstance(each, DomainTensors) for each in domains)


def _gathered(domains: Sequence[DomainTensors], indices: Tensor) -> DomainTensors:
    """A domain of samples from several.

    :param domains: where they come from.
    :param indices: their positions, counted through all domains.
    """
    ends = torch.tensor([len(domain) for domain in domains]).cumsum(dim=0)
    owners = torch.bucketize(indices, ends, right=True)
    inputs, labels = None, torch.empty(len(indices), dtype=torch.int64)
    for i, domain in enumerate(domains):
        mine = torch.nonzero(owners == i).squeeze(1)
        if len(mine) == 0:
            continue
        rows = indices[mine] - (ends[i] - len(domain))
        few = 2 * len(rows) < len(domain)
        values = domain.some_inputs(rows) if few else domain.inputs[rows]
        if inputs is None:
            inputs = values.new_empty(len(indices), *values.shape[1:])
        inputs[mine] = values
        labels[mine] = domain.labels[rows]
    assert inputs is not None
    return domain_of(inputs, labels)


class TensorBatches:
    """The samples of an Avalanche dataset by whole mini-batches.

    :param dataset: the dataset.
    :param source: the tensors behind it.
    """

    def __init__(self, dataset: AvalancheDataset, source: TensorSource) -> None:
        self._source = source
        self._attributes = sample_attributes(dataset)

    def __call__(self, positions: Tensor) -> list[Tensor]:
        """The samples at these positions of the dataset: x, y and what follows."""
        x, y = self._source.domain.batch(self._source.indices[positions])
        return [x, y, *(values[positions] for values in self._attributes)]


class LazySample(Sequence[Any]):
    """A sample that is made when somebody looks at it: x, y and what follows.

    Data loaders ask for one sample at a time and then collate them. As nobody looks at
    a sample in between, :func:`collate` can make them all at once.

    :param dataset: the dataset.
    :param position: where in it the sample is.
    """

    __slots__ = ("_fields", "dataset", "position")

    def __init__(self, dataset: "TensorDataset", position: int) -> None:
        self.dataset = dataset
        self.position = position
        self._fields: list[Any] | None = None

    @property
    def fields(self) -> list[Any]:
        """The sample as Avalanche gives it."""
        if self._fields is None:
            self._fields = self.dataset.sample(self.position)
        return self._fields

    def __len__(self) -> int:
        return len(self.fields)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        return self.fields[index]

    def __repr__(self) -> str:
        return repr(self.fields)


class TensorDataset(TaskAwareSupervisedClassificationDataset):
    """An Avalanche dataset of domains of tensors. It is like any other, and so are its
    subsets and concatenations, but Avalanche's data loaders get their mini-batches by
    indexing tensors.
    """

    def __getitem__(self, index: Any) -> Any:
        if (
            isinstance(index, (int, np.integer))
            and 0 <= index < len(self)
            and self._is_lazy
        ):
            return LazySample(self, int(index))
        return super().__getitem__(index)

    def __getstate__(self) -> dict[str, Any]:
        """The dataset without what it has made for its own use."""
        own = ("_laziness", "_batches")
        return {key: value for key, value in vars(self).items() if key not in own}

    def sample(self, position: int) -> list[Any]:
        """One sample: x, y and what follows."""
        return super().__getitem__(position)

    def batch(self, positions: Sequence[int]) -> list[Tensor]:
        """Many samples at once.

        :param positions: where in the dataset they are.
        """
        # Avalanche copies datasets and then changes the copy.
        parts = (self._flat_data, *self._data_attributes.values())
        made_of, batches = vars(self).get("_batches", ((), None))
        if batches is None or [*map(id, made_of)] != [*map(id, parts)]:
            source = tensor_source(self)
            assert source is not None
            batches = TensorBatches(self, source)
            self._batches = parts, batches
        return batches(torch.as_tensor(positions))

    @property
    def _is_lazy(self) -> bool:
        flat, is_lazy = vars(self).get("_laziness", (None, False))
        if flat is not self._flat_data:
            is_lazy = _is_made_of_tensors(self)
            self._laziness = self._flat_data, is_lazy
        return is_lazy


def collate(samples: Sequence[Any]) -> Any:
    """Make a mini-batch of samples, at once where they are lazy.

    :param samples: of one dataset or several.
    """
    if not all(type(sample) is LazySample for sample in samples):
        return default_collate(list(samples))
    parts = []
    for _, run in groupby(samples, key=lambda sample: id(sample.dataset)):
        of_one_dataset = list(run)
        positions = [sample.position for sample in of_one_dataset]
        parts.append(of_one_dataset[0].dataset.batch(positions))
    if len(parts) == 1:
        return parts[0]
    return [torch.cat(fields) for fields in zip(*parts, strict=True)]


def domain_dataset(domain: Any) -> TensorDataset:
    """A domain as an Avalanche dataset, all samples with task label 0.

    :param domain: tensors; samples of anything else are asked for one by one.
    """
    made = _make_taskaware_classification_dataset(domain, task_labels=0)
    return TensorDataset([made], collate_fn=collate)


__all__ = [
    "LazySample",
    "TensorBatches",
    "TensorDataset",
    "TensorSource",
    "collate",
    "domain_dataset",
    "tensor_source",
]

"""Avalanche datasets of tensors, which load whole mini-batches at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.classification_dataset import (
    TaskAwareSupervisedClassificationDataset,
    _make_taskaware_classification_dataset,
)
from torch import Tensor
from torch.utils.data import default_collate

from udil_avalanche.data.attributes import indices_of, parts_of, sample_attributes
from udil_avalanche.data.domain_tensors import DomainTensors, domain_of


@dataclass(frozen=True)
class TensorSource:
    """The tensors behind an Avalanche dataset."""

    domain: DomainTensors
    """The inputs and labels."""

    indices: Tensor
    """The position in them of each sample of the dataset."""

    attributes: list[Tensor]
    """The fields that follow x and y, one value per sample of the dataset."""

    def batch(self, positions: Tensor) -> list[Tensor]:
        """The samples at these positions of the dataset: x, y and what follows."""
        x, y = self.domain.batch(self.indices[positions])
        return [x, y, *(values[positions] for values in self.attributes)]


def tensor_source(dataset: AvalancheDataset) -> TensorSource | None:
    """The tensors behind an Avalanche dataset.

    If its samples come from several domains, or are only a few of one domain, they are
    copied into new tensors, 8-bit images as such. Otherwise reading them in random
    order would make a whole domain for almost every sample.

    :return: ``None`` unless it is made of domains of tensors, without transformations
        on top: then its samples have to be loaded one by one.
    """
    domains = parts_of(dataset, DomainTensors)
    if domains is None:
        return None
    indices, attributes = indices_of(dataset), sample_attributes(dataset)
    if len(domains) == 1 and 2 * len(indices) >= len(domains[0]):
        return TensorSource(domains[0], indices, attributes)
    copied = _gathered(domains, indices)
    return TensorSource(copied, torch.arange(len(indices)), attributes)


def _gathered(domains: Sequence[DomainTensors], indices: Tensor) -> DomainTensors:
    """A domain of samples from several.

    :param domains: the domains.
    :param indices: positions in all domains concatenated.
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


class LazySample(Sequence[Any]):
    """A sample that is read only when it is used: x, y and what follows.

    Avalanche's loaders ask for one sample at a time and then collate them, so that
    :func:`collate` can read them all at once. (A plain ``DataLoader`` would call
    ``__getitems__``; Avalanche's concatenate datasets, which hides it.)

    :param dataset: the dataset.
    :param position: its position in the dataset.
    """

    __slots__ = ("dataset", "position")

    def __init__(self, dataset: "TensorDataset", position: int) -> None:
        self.dataset = dataset
        self.position = position

    @property
    def fields(self) -> Sequence[Any]:
        """The sample as Avalanche returns it."""
        return self.dataset.sample(self.position)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: Any) -> Any:
        return self.fields[index]

    def __repr__(self) -> str:
        return repr(self.fields)


class TensorDataset(TaskAwareSupervisedClassificationDataset):  # type: ignore[misc]
    """An Avalanche dataset of domains of tensors. It works like any other, and so do
    its subsets and concatenations, but Avalanche's loaders read whole mini-batches.
    """

    def __getitem__(self, index: Any) -> Any:
        is_position = isinstance(index, (int, np.integer)) and 0 <= index < len(self)
        if is_position and self._is_lazy:
            return LazySample(self, int(index))
        return super().__getitem__(index)

    def __getstate__(self) -> dict[str, Any]:
        """The dataset without its caches."""
        caches = ("_laziness", "_source")
        return {key: value for key, value in vars(self).items() if key not in caches}

    def sample(self, position: int) -> Sequence[Any]:
        """One sample: x, y and what follows."""
        fields: Sequence[Any] = super().__getitem__(position)
        return fields

    def batch(self, positions: Sequence[int]) -> list[Tensor]:
        """Many samples at once.

        :param positions: their positions in the dataset.
        """
        # Avalanche copies datasets and then changes the copy.
        parts = [self._flat_data, *self._data_attributes.values()]
        cached_parts, source = vars(self).get("_source", ([], None))
        if [*map(id, cached_parts)] != [*map(id, parts)]:
            source = tensor_source(self)
            self._source = parts, source
        assert isinstance(source, TensorSource)
        return source.batch(torch.as_tensor(positions))

    @property
    def _is_lazy(self) -> bool:
        cached_for, is_lazy = vars(self).get("_laziness", (None, False))
        if cached_for is not self._flat_data:
            is_lazy = parts_of(self, DomainTensors) is not None
            self._laziness = self._flat_data, is_lazy
        return bool(is_lazy)


def collate(samples: Sequence[Any]) -> Any:
    """Make a mini-batch of samples, at once if they are lazy.

    :param samples: of one dataset or several.
    """
    if not all(type(sample) is LazySample for sample in samples):
        return default_collate(list(samples))
    parts = []
    for _, group in groupby(samples, key=lambda sample: id(sample.dataset)):
        of_one_dataset = list(group)
        positions = [sample.position for sample in of_one_dataset]
        parts.append(of_one_dataset[0].dataset.batch(positions))
    if len(parts) == 1:
        return parts[0]
    return [torch.cat(fields) for fields in zip(*parts, strict=True)]


def domain_dataset(domain: Any) -> TensorDataset:
    """A domain as an Avalanche dataset, all samples with task label 0.

    :param domain: its samples. They are read one by one unless they are tensors.
    """
    made = _make_taskaware_classification_dataset(domain, task_labels=0)
    return TensorDataset([made], collate_fn=collate)

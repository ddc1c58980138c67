"""The attributes of Avalanche's datasets, classes and task labels, as tensors."""

from collections.abc import Sequence
from typing import Any

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.data_attribute import DataAttribute
from avalanche.benchmarks.utils.flat_data import ConstantSequence, FlatData
from torch import Tensor


def values_of(data: DataAttribute | Sequence[Any]) -> Tensor:
    """All values of an attribute, in the order of the dataset.

    Walking over a ``DataAttribute`` asks for one value at a time, through several
    layers: for a domain of 12,000 samples that takes as long as some training steps.

    :param data: the attribute, or a sequence of numbers.
    """
    if isinstance(data, DataAttribute):
        return values_of(data.data)
    if isinstance(data, ConstantSequence):
        return torch.as_tensor(data[0]).expand(len(data)) if len(data) else _nothing()
    if isinstance(data, FlatData):
        parts = [values_of(part) for part in data._datasets]
        whole = torch.cat(parts) if parts else _nothing()
        return whole if data._indices is None else whole[list(data._indices)]
    return torch.as_tensor(list(data))


def sample_attributes(dataset: AvalancheDataset) -> list[Tensor]:
    """What follows x and y in each sample of the dataset.

    :param dataset: the dataset.
    """
    attributes = dataset._data_attributes.values()
    return [values_of(one) for one in attributes if one.use_in_getitem]


def _nothing() -> Tensor:
    return torch.zeros(0, dtype=torch.int64)


__all__ = ["sample_attributes", "values_of"]

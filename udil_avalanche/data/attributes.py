"""The parts and attributes of an Avalanche dataset.

Avalanche only offers one sample at a time, so this reads its private attributes.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.data_attribute import DataAttribute
from avalanche.benchmarks.utils.flat_data import ConstantSequence, FlatData
from torch import Tensor

Part = TypeVar("Part")


def values_of(data: DataAttribute | Sequence[Any]) -> Tensor:
    """All values of an attribute, such as classes or task labels, in dataset order.

    Iterating over a ``DataAttribute`` reads one value at a time, through several
    layers: for a domain of 12,000 samples that takes as long as some training steps.

    :param data: the attribute, or a sequence of numbers.
    """
    nothing = torch.zeros(0, dtype=torch.int64)
    if isinstance(data, DataAttribute):
        return values_of(data.data)
    if isinstance(data, ConstantSequence):
        return torch.as_tensor(data[0]).expand(len(data)) if len(data) else nothing
    if isinstance(data, FlatData):
        parts = [values_of(part) for part in data._datasets]
        whole = torch.cat(parts) if parts else nothing
        return whole if data._indices is None else whole[list(data._indices)]
    return torch.as_tensor(list(data))


def sample_attributes(dataset: AvalancheDataset) -> list[Tensor]:
    """The fields that follow x and y in each sample of the dataset.

    :param dataset: the dataset.
    """
    attributes = dataset._data_attributes.values()
    return [values_of(one) for one in attributes if one.use_in_getitem]


def parts_of(dataset: AvalancheDataset, kind: type[Part]) -> list[Part] | None:
    """The datasets that an Avalanche dataset is made of.

    :param dataset: one of them, a subset, or several concatenated.
    :param kind: what they must be.
    :return: ``None`` if one is something else, or if there are transformations on top.
    """
    flat = dataset._flat_data
    for groups in (flat._transform_groups, flat._frozen_transform_groups):
        if groups.transform_groups.get(groups.current_group) is not None:
            return None
    parts: list[Part] = flat._datasets
    return parts if all(isinstance(part, kind) for part in parts) else None


def indices_of(dataset: AvalancheDataset) -> Tensor:
    """The positions in its concatenated parts of each sample of an Avalanche dataset.

    :param dataset: the dataset.
    """
    indices = dataset._flat_data._indices
    return torch.arange(len(dataset)) if indices is None else torch.tensor([*indices])

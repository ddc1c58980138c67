"""Attributes read all at once are the same as those read one by one."""

from collections.abc import Callable

import pytest
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from torch.utils.data import TensorDataset

from udil_avalanche.data.attributes import sample_attributes, values_of


def dataset(first: int, n: int = 6) -> AvalancheDataset:
    labels = torch.arange(first, first + n)
    return _make_taskaware_classification_dataset(
        TensorDataset(torch.rand(n, 3), labels), targets=labels.tolist(), task_labels=0
    )


ARRANGEMENTS: dict[str, Callable[[], AvalancheDataset]] = {
    "whole": lambda: dataset(0),
    "subset": lambda: dataset(0).subset([4, 0, 4, 2]),
    "subset of a subset": lambda: dataset(0).subset([5, 3, 1]).subset([2, 0]),
    "concatenated": lambda: dataset(0).concat(dataset(10)),
    "subsets concatenated": lambda: (
        dataset(0).subset([3, 1]).concat(dataset(10).subset([5]))
    ),
    "subset of concatenated": lambda: dataset(0).concat(dataset(10)).subset([11, 0, 7]),
    "nothing": lambda: dataset(0).subset([]),
}


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_values_of_an_attribute_are_those_of_a_walk(name: str) -> None:
    arranged = ARRANGEMENTS[name]()
    for attribute in arranged._data_attributes.values():
        assert values_of(attribute).tolist() == list(attribute)


def test_sample_attributes_follow_x_and_y() -> None:
    arranged = dataset(0).subset([4, 1])
    (task_labels,) = sample_attributes(arranged)
    assert task_labels.tolist() == [sample[2] for sample in arranged]

"""Avalanche's own loaders and plugins on domains of tensors."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from avalanche.benchmarks.utils.data_loader import (
    ReplayDataLoader,
    TaskBalancedDataLoader,
)
from avalanche.training.plugins import ReplayPlugin
from avalanche.training.supervised import Naive
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.data.tensor_dataset import LazySample, TensorDataset, tensor_source


class Maker:
    """Makes a domain's inputs, and notes what it was asked for."""

    def __init__(self, t: int, size: int, notes: list[Any]) -> None:
        values = torch.arange(size * 3).view(size, 3) + 100 * t
        self.pixels = (values % 256).to(torch.uint8)
        self.t, self.notes = t, notes

    def all(self) -> Tensor:
        self.notes.append(("all", self.t))
        return self.pixels

    def some(self, indices: Tensor) -> Tensor:
        self.notes.append(("some", self.t))
        return self.pixels[indices]


@pytest.fixture
def notes() -> list[Any]:
    return []


@pytest.fixture
def scenario(notes: list[Any]) -> DomainScenario:
    """Three domains of 8-bit images that share a slot."""
    slot = LastUsed()

    def domain(t: int) -> DomainTensors:
        maker = Maker(t, 40, notes)
        return DomainTensors(maker.all, torch.randint(3, (40,)), slot, maker.some)

    domains = [domain(t) for t in range(3)]
    made = DomainScenario(train=domains, test=domains, n_classes=3, data="numbers")
    notes.clear()
    return made


def one_by_one(dataset: TensorDataset, positions: Any) -> list[Tensor]:
    """A mini-batch as Avalanche makes it."""
    return default_collate([dataset.sample(int(i)) for i in positions])


def same(batch: list[Tensor], expected: list[Tensor]) -> bool:
    return len(batch) == len(expected) and all(
        a.dtype == b.dtype and torch.equal(a, b)
        for a, b in zip(batch, expected, strict=True)
    )


def forms(scenario: DomainScenario) -> Iterator[TensorDataset]:
    first, second, third = (each.dataset for each in scenario.train_stream)
    yield first
    yield first.train()
    yield second.subset([5, 3, 3, 30])
    yield first.concat(second)
    yield first.subset([1, 2, 3]).concat(third.subset([0, 39])).concat(second).eval()
    yield third.subset(list(range(39, -1, -1))).subset([0, 10, 20])


def test_every_form_of_a_dataset_gives_avalanches_batches(
    scenario: DomainScenario,
) -> None:
    for dataset in forms(scenario):
        assert isinstance(dataset, TensorDataset)
        loader = DataLoader(dataset, batch_size=3, collate_fn=dataset.collate_fn)
        everything = torch.arange(len(dataset))
        for batch, positions in zip(loader, everything.split(3), strict=True):
            assert same(batch, one_by_one(dataset, positions))


def test_a_sample_looks_like_avalanches(scenario: DomainScenario) -> None:
    dataset = scenario.train_stream[1].dataset
    sample = dataset[4]
    assert isinstance(sample, LazySample)
    x, y, task = sample
    assert torch.equal(x, dataset.sample(4)[0]) and sample[1] == y and task == 0
    assert len(sample) == 3 and sample[1:] == [y, 0] and repr(y) in repr(sample)
    assert len(list(dataset)) == 40
    with pytest.raises(IndexError):
        dataset[40]


def test_anyones_collate_function_will_do(scenario: DomainScenario) -> None:
    dataset = scenario.train_stream[0].dataset
    plain = next(iter(DataLoader(dataset, batch_size=4)))
    assert same(plain, one_by_one(dataset, range(4)))
    mixed = dataset.collate_fn([dataset[0], dataset.sample(1)])
    assert same(mixed, one_by_one(dataset, range(2)))


def test_transformations_are_applied_to_every_sample(scenario: DomainScenario) -> None:
    dataset = scenario.train_stream[0].dataset
    doubled = dataset.replace_current_transform_group(lambda x: 2 * x)
    wrapped = _make_taskaware_classification_dataset(dataset, transform=lambda x: 2 * x)
    plain = dataset.batch(range(8))
    for each in (doubled, wrapped, dataset.concat(wrapped).subset(range(40, 80))):
        assert tensor_source(each) is None
        loader = DataLoader(each, batch_size=8, collate_fn=each.collate_fn)
        assert same(next(iter(loader)), [2 * plain[0], *plain[1:]])


def test_task_labels_that_were_changed_afterwards(scenario: DomainScenario) -> None:
    dataset = scenario.train_stream[0].dataset
    assert dataset.batch([0, 1])[2].tolist() == [0, 0]
    changed = dataset.update_data_attribute("targets_task_labels", list(range(40)))
    assert changed.batch([7, 1])[2].tolist() == [7, 1]
    assert dataset.batch([7, 1])[2].tolist() == [0, 0]


def test_avalanches_loaders_for_one_dataset_and_for_replay(
    scenario: DomainScenario, notes: list[Any]
) -> None:
    first, second, third = (each.dataset for each in scenario.train_stream)
    buffer = first.subset(range(5)).concat(second.subset(range(5, 10)))
    balanced = TaskBalancedDataLoader(third, batch_size=8, shuffle=False)
    assert same(next(iter(balanced)), one_by_one(third, range(8)))

    notes.clear()
    replay = ReplayDataLoader(
        third, buffer, batch_size=8, batch_size_mem=4, shuffle=False
    )
    batches = list(replay)
    assert notes == [("some", 0), ("some", 1)], "the domain in use stays where it is"
    expected = zip(
        one_by_one(third, range(8)), one_by_one(buffer, range(4)), strict=True
    )
    assert same(batches[0], [torch.cat(fields) for fields in expected])


def test_the_replay_of_avalanche_trains_on_the_samples_of_all_domains(
    scenario: DomainScenario, notes: list[Any], naive: Any
) -> None:
    model = torch.nn.Linear(3, 3)
    strategy = naive(model, [ReplayPlugin(mem_size=12)])
    strategy.train(scenario.train_stream)
    # The first domain was there already; later ones are made when their turn comes.
    second_turn = [("all", 1), ("some", 0)]
    assert notes == [*second_turn, ("all", 2), ("some", 0), ("some", 1)]


def test_copies_and_pickles_leave_out_what_was_gathered(
    scenario: DomainScenario,
) -> None:
    first, second, _ = (each.dataset for each in scenario.train_stream)
    both = first.subset([1, 2]).concat(second.subset([3, 4]))
    expected = both.batch([0, 3])
    assert "_batches" not in copy.copy(both).__dict__
    assert same(pickle.loads(pickle.dumps(both)).batch([0, 3]), expected)


@pytest.fixture
def naive(silent: Any) -> Any:
    def make(model: torch.nn.Module, plugins: list[Any]) -> Naive:
        return Naive(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            train_mb_size=8,
            plugins=plugins,
            evaluator=silent(),
        )

    return make

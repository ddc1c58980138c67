import pytest
import torch

from udil_avalanche.benchmarks.reading.bad_data import BadData
from udil_avalanche.benchmarks.reading.splitting import Splitter

LABELS = torch.arange(10).repeat_interleave(20)


def test_a_seeded_share_is_held_out() -> None:
    train, test = Splitter(0.2, seed=1).split("d", LABELS)
    assert len(train) == 160 and len(test) == 40
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(200))
    again = Splitter(0.2, seed=1).split("d", LABELS)
    assert torch.equal(again.test, test)
    assert not torch.equal(Splitter(0.2, seed=2).split("d", LABELS).test, test)
    splitter = Splitter(0.2, seed=1)
    splitter.split("d", LABELS)
    assert not torch.equal(splitter.split("e", LABELS).test, test)


def test_a_stratified_share_is_that_of_every_class() -> None:
    plain = Splitter(0.2).split("d", LABELS)
    assert LABELS[plain.test].bincount().unique().numel() > 1
    stratified = Splitter(0.2, stratified=True).split("d", LABELS)
    assert LABELS[stratified.test].bincount().tolist() == [4] * 10


@pytest.mark.parametrize("stratified", [True, False])
def test_every_class_keeps_a_sample_to_train_on(stratified: bool) -> None:
    labels = torch.tensor([0] * 20 + [1, 2, 3, 4, 5])
    for seed in range(10):
        train, _ = Splitter(0.5, stratified, seed=seed).split("d", labels)
        assert set(labels[train].tolist()) == set(range(6))


def test_a_given_split_stays() -> None:
    is_test = torch.arange(200) % 4 == 0
    train, test = Splitter(0.2).split("d", LABELS, is_test)
    assert torch.equal(test, torch.arange(0, 200, 4))
    assert len(train) == 150


def test_validation_comes_out_of_the_training_samples() -> None:
    is_test = torch.arange(200) % 4 == 0
    train, held_out = Splitter(validation=0.1).split("d", LABELS, is_test)
    assert len(held_out) == 15 and len(train) == 135
    assert not is_test[held_out].any() and not is_test[train].any()
    _, tested = Splitter(0.2, seed=3).split("d", LABELS)
    train, held_out = Splitter(0.2, seed=3, validation=0.25).split("d", LABELS)
    assert len(train) == 120 and len(held_out) == 40
    assert not set(tested.tolist()) & {*train.tolist(), *held_out.tolist()}


def test_a_share_of_the_training_samples() -> None:
    train, test = Splitter(0.2, train_per_domain=30).split("d", LABELS)
    assert len(train) == 30 and len(test) == 40
    assert not set(train.tolist()) & set(test.tolist())
    with pytest.raises(BadData, match="more than the 160 training samples of d"):
        Splitter(0.2, train_per_domain=161).split("d", LABELS)


def test_too_few_samples_are_refused() -> None:
    for n in (0, 1, 2):
        with pytest.raises(BadData, match="the domain d has"):
            Splitter(0.2).split("d", torch.arange(n))

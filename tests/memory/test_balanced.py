"""The memory bank of Algorithm 2."""

from itertools import pairwise

import pytest
import torch
from torch.utils.data import TensorDataset

from udil_avalanche.memory.balanced import BalancedMemory

CPU = torch.device("cpu")


def add(memory: BalancedMemory, size: int, n_classes: int = 10) -> None:
    """A domain whose inputs say where they are from: (domain, index)."""
    index = torch.arange(size)
    x = torch.stack([torch.full((size,), memory.n_domains), index], dim=1)
    y = index % n_classes
    memory.add_domain(TensorDataset(x, y), y, CPU)


@pytest.mark.parametrize("max_size", [400, 401, 37])
def test_exactly_the_floor_of_the_share_for_every_domain(max_size: int) -> None:
    memory = BalancedMemory(max_size)
    for t in range(1, 21):
        add(memory, 500)
        assert memory.counts.tolist() == [max_size // t] * t
        assert torch.equal(memory.fields[0][:, 0], memory.domains)


def test_older_samples_are_swapped_out_at_random_and_never_come_back() -> None:
    torch.manual_seed(0)
    memory = BalancedMemory(100)
    add(memory, 500)
    kept = [set(memory.fields[0][:, 1].tolist())]
    for _ in range(4):
        add(memory, 500)
        first = memory.fields[0][memory.domains == 0][:, 1]
        kept.append(set(first.tolist()))
    assert [len(each) for each in kept] == [100, 50, 33, 25, 20]
    assert all(later < earlier for earlier, later in pairwise(kept))


def test_nothing_moves_while_the_share_stays_the_same() -> None:
    """In a long stream the share of a domain rarely shrinks; then there is nothing to
    choose, and a domain costs no more than the samples that it brings."""
    memory = BalancedMemory(100)
    for _ in range(34):
        add(memory, 500)
    before = memory.fields[0].clone()
    for _ in range(16):
        add(memory, 500)
        assert torch.equal(memory.fields[0][: len(before)], before)
    add(memory, 500)
    assert memory.counts.tolist() == [1] * 51


def test_every_sample_of_a_domain_can_be_chosen() -> None:
    chosen = torch.zeros(30)
    for seed in range(200):
        torch.manual_seed(seed)
        memory = BalancedMemory(10)
        add(memory, 30)
        chosen[memory.fields[0][:, 1]] += 1
    assert chosen.min() > 30 and chosen.max() < 110


@pytest.mark.parametrize("seed", range(5))
def test_stratified_by_class_within_a_domain(seed: int) -> None:
    torch.manual_seed(seed)
    memory = BalancedMemory(100, stratified=True)
    shares = torch.tensor([0.6, 0.25, 0.1, 0.05])
    labels = torch.arange(4).repeat_interleave((shares * 500).long())
    labels = labels[torch.randperm(500)]
    for t in range(1, 5):
        samples = TensorDataset(torch.zeros(500, 1), labels)
        memory.add_domain(samples, labels, torch.device("cpu"))
        for domain in range(t):
            classes = torch.bincount(memory.labels[memory.domains == domain])
            assert classes.sum() == 100 // t
            assert (classes - shares * (100 // t)).abs().max() <= 1


def test_a_small_domain_keeps_all_it_has() -> None:
    memory = BalancedMemory(100)
    add(memory, 7)
    add(memory, 500)
    assert memory.counts.tolist() == [7, 50]
    assert sorted(memory.fields[0][:7, 1].tolist()) == list(range(7))


def test_too_small_a_memory_is_refused_in_plain_words() -> None:
    memory = BalancedMemory(2)
    add(memory, 5)
    add(memory, 5)
    with pytest.raises(ValueError, match="memory of 2 samples cannot hold 3 domains"):
        add(memory, 5)


@pytest.mark.parametrize("size", [1, 3, 20, 59, 60])
def test_memory_batches_are_balanced_and_without_repeats(size: int) -> None:
    memory = BalancedMemory(60)
    for _ in range(6):
        add(memory, 100)
    for _ in range(50):
        positions = memory.sample(size)
        assert len(positions) == len(positions.unique()) == size
        counts = torch.bincount(memory.domains[positions], minlength=6)
        assert counts.max() - counts.min() <= 1


def test_memory_batches_reach_every_sample_equally_often() -> None:
    torch.manual_seed(0)
    memory = BalancedMemory(24)
    for _ in range(3):
        add(memory, 100)
    drawn = torch.zeros(24)
    for _ in range(3000):
        drawn[memory.sample(5)] += 1
    expected = 3000 * 5 / 24
    assert ((drawn - expected).abs() < 0.15 * expected).all()


def test_a_batch_larger_than_the_memory_is_the_whole_memory() -> None:
    memory = BalancedMemory(10)
    add(memory, 100)
    assert memory.sample(50).tolist() == list(range(10))


def test_a_small_domains_share_of_a_batch_goes_to_the_others() -> None:
    memory = BalancedMemory(99)
    add(memory, 3)
    add(memory, 100)
    add(memory, 100)
    for _ in range(20):
        counts = torch.bincount(memory.domains[memory.sample(60)], minlength=3)
        assert counts[0] == 3 and counts.sum() == 60
        assert abs(counts[1] - counts[2]) <= 1

"""The memory that is filled while a domain is learned."""

import pytest
import torch

from udil_avalanche.memory.reservoir import ReservoirMemory


def fill(
    memory: ReservoirMemory, domains: int, size: int = 100, batch: int = 16
) -> None:
    """A stream of samples that say where they are from: x and y count them."""
    number = torch.arange(domains * size)
    for domain in number.split(size):
        memory.start_domain()
        for y in domain.split(batch):
            memory.add([y[:, None].float(), y, torch.zeros_like(y)])


@pytest.mark.parametrize("batch", [7, 60])
def test_every_sample_of_the_stream_is_kept_equally_often(batch: int) -> None:
    kept = torch.zeros(60)
    for _ in range(600):
        memory = ReservoirMemory(20)
        fill(memory, domains=1, size=60, batch=batch)
        assert len(memory) == len(memory.labels.unique()) == 20
        kept[memory.labels] += 1
    assert ((kept / 600 - 1 / 3).abs() < 0.08).all()


def test_the_fields_of_a_sample_stay_together() -> None:
    memory = ReservoirMemory(50)
    fill(memory, domains=5)
    x, y, _ = memory.fields
    assert torch.equal(x[:, 0], y.float())
    assert torch.equal(memory.domains, y // 100)
    assert memory.n_domains == 5 and memory.n_seen == 500
    assert memory.counts.sum() == 50 and memory.counts.min() > 0


def test_it_holds_all_until_it_is_full() -> None:
    memory = ReservoirMemory(50)
    fill(memory, domains=1, size=40)
    assert memory.labels.tolist() == list(range(40))
    assert memory.fields[0].untyped_storage().nbytes() == 40 * 4


def test_memory_batches_are_random_and_without_repeats() -> None:
    memory = ReservoirMemory(50)
    fill(memory, domains=2)
    draws = [memory.sample(10) for _ in range(100)]
    assert all(len(draw.unique()) == 10 for draw in draws)
    assert len(torch.cat(draws).unique()) == 50
    assert sorted(memory.sample(80).tolist()) == list(range(50))

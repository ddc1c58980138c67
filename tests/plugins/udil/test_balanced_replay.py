"""The memory of past domains and its batches."""

import gc
import weakref
from typing import Any

import pytest
import torch

from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    BalancedReplayPlugin,
    DiscriminatorPlugin,
    HistoryModelPlugin,
)


def test_replay_appends_a_balanced_memory_batch(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay, seen = BalancedReplayPlugin(mem_size=30, batch_size_mem=9), []

    def look(strategy: Any) -> None:
        batch = replay.batch
        if batch is None:
            seen.append((len(strategy.mb_y), None))
            return
        memory_x = strategy.mb_x[batch.n_current :]
        assert torch.equal(memory_x, replay.memory.fields[0][batch.positions])
        assert torch.equal(
            strategy.mb_y[batch.n_current :], replay.memory.labels[batch.positions]
        )
        seen.append((len(strategy.mb_y), torch.bincount(batch.domains).tolist()))

    strategy = naive(make_model(), [replay, watch("after_forward", look)])
    scenario = make_scenario(domains=4)
    for experience in scenario.train_stream:
        strategy.train(experience)
    assert seen[:4] == [(16, None)] * 4
    assert seen[4:8] == [(25, [9])] * 4
    assert all(size == 25 and sorted(c) == [4, 5] for size, c in seen[8:12])
    assert seen[12:] == [(25, [3, 3, 3])] * 4
    assert replay.batch is None


def test_replay_with_a_memory_of_zero_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, models = make_scenario(), [make_model(), make_model()]
    for model, plugins in zip(models, ([BalancedReplayPlugin(0)], []), strict=True):
        torch.manual_seed(3)
        naive(model, plugins).train(scenario.train_stream)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(a, b)


def test_a_memory_smaller_than_the_number_of_domains_says_so_before_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy = naive(make_model(), [BalancedReplayPlugin(mem_size=2)])
    scenario = make_scenario(domains=3)
    strategy.train(scenario.train_stream[:2])
    steps = strategy.clock.train_iterations
    with pytest.raises(ValueError, match="cannot hold 3 domains"):
        strategy.train(scenario.train_stream[2])
    assert strategy.clock.train_iterations == steps


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="mem_size must not be negative"):
        BalancedReplayPlugin(mem_size=-1)


def test_the_memory_does_not_keep_past_domains_alive(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """400 samples of 3 domains, and no tensor or dataset of the domains themselves."""
    replay = BalancedReplayPlugin(mem_size=400)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    strategy = naive(make_model(), [replay, history], criterion=criterion)
    scenario = make_scenario(domains=3, size=1000)
    watched = []
    for experience in scenario.train_stream:
        domain = experience.dataset._flat_data._datasets[0]
        watched += [weakref.ref(domain), weakref.ref(domain.inputs)]
        strategy.train(experience)
    del scenario, experience, domain
    gc.collect()
    assert len(replay.memory) == 3 * 133
    assert [ref() for ref in watched] == [None] * len(watched)
    storage = replay.memory.fields[0].untyped_storage()
    assert storage.nbytes() == replay.memory.fields[0].nbytes


def test_a_reservoir_is_refused_where_the_memory_must_hold_past_domains_only() -> None:
    replay = BalancedReplayPlugin(reservoir=True)
    for make in (HistoryModelPlugin, DiscriminatorPlugin):
        with pytest.raises(ValueError, match="reservoir=False"):
            make(replay)

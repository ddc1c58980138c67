"""The loader of domains of tensors."""

import copy
from typing import Any

import pytest
import torch

from udil_avalanche.plugins import (
    TensorLoaderPlugin,
)


@pytest.mark.parametrize("shuffle", [True, False])
def test_tensor_loader_gives_the_samples_that_avalanche_gives(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any, shuffle: bool
) -> None:
    batches: dict[bool, list[Any]] = {True: [], False: []}
    for fast in (True, False):
        looking = watch(
            "before_forward", lambda s, fast=fast: batches[fast].append(s.mbatch)
        )
        plugins = [TensorLoaderPlugin(), looking] if fast else [looking]
        strategy = naive(make_model(), plugins, train_mb_size=24)
        strategy.train(make_scenario().train_stream[0], shuffle=shuffle)
    for fast, slow in zip(batches[True], batches[False], strict=True):
        assert [f.shape for f in fast] == [s.shape for s in slow]
        assert [f.dtype for f in fast] == [s.dtype for s in slow]
        if not shuffle:
            assert all(torch.equal(f, s) for f, s in zip(fast, slow, strict=True))
    together = [torch.cat([b[0] for b in batches[f]]) for f in (True, False)]
    fast_rows, slow_rows = (sorted(rows.tolist()) for rows in together)
    assert fast_rows == slow_rows


def test_tensor_loader_serves_subsets_and_leaves_other_datasets_alone(
    watch: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario = make_scenario()
    dataset = scenario.train_stream[0].dataset
    indices = [5, 3, 60]
    seen: list[torch.Tensor] = []
    looking = watch("before_eval_forward", lambda s: seen.append(s.mb_x))
    strategy = naive(make_model(), [TensorLoaderPlugin(), looking])
    experience = copy.copy(scenario.train_stream[0])
    experience._dataset = dataset.subset(indices)
    strategy.eval([experience])
    assert torch.equal(torch.cat(seen), torch.stack([dataset[i][0] for i in indices]))

    seen.clear()
    subset = dataset.subset(indices).eval()
    experience._dataset = subset.replace_current_transform_group(lambda x: 2 * x)
    strategy.eval([experience])
    expected = torch.stack([2 * dataset[i][0] for i in indices])
    assert torch.equal(torch.cat(seen), expected)


def test_the_last_smaller_batch_can_be_left_out(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    strategy = naive(make_model(), [TensorLoaderPlugin()])
    strategy.train(make_scenario(size=65).train_stream[0], drop_last=True)
    assert strategy.clock.train_iterations == 4

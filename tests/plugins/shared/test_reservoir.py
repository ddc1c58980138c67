"""The methods that replay, with a reservoir for a memory."""

from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor

from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    CLSERPlugin,
    DERPlugin,
    ESMERPlugin,
)
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin


class KeepStream(SupervisedPlugin):
    """Keeps every sample of the stream and the model's output for it in its step."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[tuple[float, ...], list[Tensor]] = {}
        self.sizes: list[int] = []

    def before_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        self.x = strategy.mb_x

    def after_forward(self, strategy: Any, **kwargs: Any) -> None:
        for x, logits in zip(self.x, strategy.mb_output.detach(), strict=False):
            self.said.setdefault(tuple(x.tolist()), []).append(logits)
        self.sizes.append(len(strategy.mb_output))


def test_der_stores_the_logits_of_the_step_in_which_it_saw_the_sample(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    der = DERPlugin(mem_size=30, batch_size_mem=8, reservoir=True)
    stream = KeepStream()
    naive(make_model(), [der, stream]).train(make_scenario().train_stream)
    x, y, _, logits = der.memory.fields
    assert len(x) == len(y) == 30
    for row, stored in zip(x, logits, strict=True):
        (said,) = stream.said[tuple(row.tolist())]
        assert torch.equal(stored, said)
    assert der.memory.counts.sum() == 30 and der.memory.n_domains == 3


def test_replay_starts_with_the_second_step_and_stores_current_samples_only(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8, reservoir=True)
    stream = KeepStream()
    naive(make_model(), [replay, stream]).train(make_scenario().train_stream)
    assert stream.sizes == [16] + [24] * 11
    assert replay.memory.n_seen == len(stream.said) == 3 * 64
    stored = [tuple(row.tolist()) for row in replay.memory.fields[0]]
    assert len(set(stored)) == 30


@pytest.mark.parametrize("method", [CLSERPlugin, ESMERPlugin])
def test_methods_that_average_the_model(
    method: type, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8, reservoir=True)
    plugin, model = method(replay), make_model()
    kwargs = {"criterion": plugin} if method is ESMERPlugin else {}
    naive(model, [replay, plugin], **kwargs).train(make_scenario().train_stream)
    assert all(p.isfinite().all() for p in model.parameters())
    assert plugin.terms["consistency"] > 0


def test_an_empty_reservoir_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    models = [make_model(), make_model()]
    empty = BalancedReplayPlugin(0, reservoir=True)
    for model, plugins in zip(models, ([empty], []), strict=True):
        torch.manual_seed(3)
        naive(model, plugins).train(make_scenario().train_stream)
    for a, b in zip(*(m.parameters() for m in models), strict=True):
        assert torch.equal(a, b)


def test_a_reservoir_that_is_balanced_by_class_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be stratified by class"):
        MemoryPlugin(stratified=True, reservoir=True)

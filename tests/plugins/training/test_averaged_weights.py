"""An average of the weights, for any strategy."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from udil_avalanche.plugins import (
    AveragedWeightsPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    HistoryModelPlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.strategies import UDIL


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_the_average_is_that_of_all_steps_of_all_domains(
    watch: Any, naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    model, plugin = make_batchnorm_model(), AveragedWeightsPlugin(decay=0.8)
    seen = [values(model)]
    keep = watch("after_update", lambda strategy: seen.append(values(strategy.model)))
    strategy = naive(model, [plugin, keep])
    for experience in make_scenario().train_stream:
        strategy.train(experience)
        assert plugin.stable.model is not None
        for name, average in plugin.stable.model.state_dict().items():
            # The weight of each state of the model in the average, step by step.
            weights = [1.0]
            for n in range(1, len(seen)):
                decay = min(1 - 10 / (n + 10), 0.8)
                weights = [*(decay * weight for weight in weights), 1 - decay]
            states = [state[name] for state in seen]
            if average.is_floating_point():
                pairs = zip(weights, states, strict=True)
                expected = sum(w * s for w, s in pairs)
                torch.testing.assert_close(average, expected, msg=name)
            else:
                assert torch.equal(average, states[-1])
    assert len(seen) == 1 + 3 * 4


def test_the_weights_that_are_trained_are_those_without_an_average(
    naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    results = []
    for own in ([], [AveragedWeightsPlugin(0.9)]):
        model = make_batchnorm_model()
        # Avalanche's own loaders draw a random number in each evaluation.
        strategy = naive(model, [TensorLoaderPlugin(), *own])
        scenario = make_scenario()
        for experience in scenario.train_stream:
            strategy.train(experience)
            strategy.eval(scenario.test_stream)
        results.append(values(model))
    assert same(*results)


@pytest.mark.parametrize("decay", [0.9, None])
def test_what_is_evaluated_is_the_next_domains_history_model(
    decay: float | None, make_scenario: Any, make_model: Any, watch: Any, silent: Any
) -> None:
    model = make_model()
    taught: list[dict[str, Tensor]] = []

    def keep_teacher(strategy: Any) -> None:
        if strategy.history.model is not None:
            taught.append(values(strategy.history.model))

    strategy = UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        mem_size=30,
        batch_size_mem=12,
        train_mb_size=16,
        evaluator=silent(),
        plugins=[
            *([] if decay is None else [AveragedWeightsPlugin(decay)]),
            watch("before_backward", keep_teacher),
        ],
    )
    scenario, deployed = make_scenario(), {}
    for t, experience in enumerate(scenario.train_stream):
        taught.clear()
        strategy.train(experience)
        assert len(taught) == (0 if t == 0 else 4)
        assert all(same(teacher, deployed) for teacher in taught)
        deployed, working = values(evaluated_model(strategy)), values(model)
        assert same(deployed, working) == (decay is None)
        strategy.eval(scenario.test_stream)
        assert same(values(model), working), "the model goes on from its own weights"


def test_the_plugin_may_come_before_or_after_the_history_models(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    for reverse in (False, True):
        average, history = AveragedWeightsPlugin(0.9), HistoryModelPlugin()
        plugins = [history, average] if reverse else [average, history]
        naive(make_model(), plugins).train(make_scenario().train_stream)
        assert average.stable.model is not None and history.model is not None
        assert same(values(history.model), values(average.stable.model))


def test_a_second_average_to_evaluate_is_refused(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(30, 8)
    plugins = [replay, CLSERPlugin(replay), AveragedWeightsPlugin(0.9)]
    strategy = naive(make_model(), plugins)
    with pytest.raises(ValueError, match="CLSERPlugin and AveragedWeightsPlugin both"):
        strategy.train(make_scenario().train_stream)

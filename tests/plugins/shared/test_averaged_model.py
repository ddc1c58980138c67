"""Averages of a model, and their evaluation in its place."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn

from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.plugins import (
    AveragedWeightsPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    ESMERPlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.plugins.shared.averaged_model import EmaModel, StableModelPlugin


def walk(model: nn.Module) -> None:
    """A step of some training."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model(torch.randn(8, 6))


def state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def slow_update(
    average: dict[str, Tensor], model: nn.Module, step: int, alpha: float
) -> dict[str, Tensor]:
    decay = min(1 - 1 / (step + 1), alpha)
    return {
        name: decay * average[name] + (1 - decay) * value
        if value.is_floating_point()
        else value
        for name, value in state(model).items()
    }


def test_the_average_follows_its_schedule_step_by_step(
    make_batchnorm_model: Any,
) -> None:
    model, average = make_batchnorm_model(), EmaModel(alpha=0.8)
    average.start(model)
    expected = state(model)
    for step in range(1, 20):
        walk(model)
        average.update(model)
        expected = slow_update(expected, model, step, alpha=0.8)
        assert average.model is not None
        for name, value in average.model.state_dict().items():
            torch.testing.assert_close(value, expected[name], msg=f"{name}, {step}")


def test_before_the_decay_is_reached_all_weights_count_the_same(
    make_model: Any,
) -> None:
    model, average = make_model(), EmaModel(alpha=0.999)
    average.start(model)
    seen = [model.predictor.weight.detach().clone()]
    for _ in range(9):
        walk(model)
        average.update(model)
        seen.append(model.predictor.weight.detach().clone())
    torch.testing.assert_close(
        average.model.predictor.weight.data, torch.stack(seen).mean(dim=0)
    )


def test_updates_come_with_their_frequency_and_steps_count_without_them(
    make_batchnorm_model: Any,
) -> None:
    model, average = make_batchnorm_model(), EmaModel(alpha=0.95, freq=0.3)
    average.start(model)
    expected, updates = state(model), 0
    for step in range(1, 401):
        walk(model)
        average.update(model)
        now = average.model.state_dict()
        if not torch.equal(now["0.weight"], expected["0.weight"]):
            updates += 1
            expected = slow_update(expected, model, step, alpha=0.95)
        for name, value in now.items():
            torch.testing.assert_close(value, expected[name])
        expected = state(average.model)
    assert 90 < updates < 150


def test_the_average_is_a_frozen_copy_in_evaluation_mode(
    make_batchnorm_model: Any,
) -> None:
    model, average = make_batchnorm_model(), EmaModel(alpha=0.9)
    average.start(model)
    first = average.model
    walk(model)
    average.start(model)
    assert average.model is first, "only the first start copies"
    assert model.training and not first.training
    before = state(first)
    logits = average(torch.randn(5, 6))
    assert not logits.requires_grad
    assert all(torch.equal(before[name], value) for name, value in state(first).items())


@pytest.mark.parametrize("settings", [(1.5, 1.0), (0.9, -0.1), (0.9, 1.1)])
def test_impossible_decays_and_frequencies_are_refused(
    settings: tuple[float, float],
) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        EmaModel(*settings)


def cls_er(replay: BalancedReplayPlugin) -> tuple[StableModelPlugin, dict[str, Any]]:
    return CLSERPlugin(replay, stable_alpha=0.9), {}


def esm_er(replay: BalancedReplayPlugin) -> tuple[StableModelPlugin, dict[str, Any]]:
    plugin = ESMERPlugin(replay, stable_alpha=0.9)
    return plugin, {"criterion": plugin}


def averaged(replay: BalancedReplayPlugin) -> tuple[StableModelPlugin, dict[str, Any]]:
    return AveragedWeightsPlugin(decay=0.9), {}


Make = Callable[[BalancedReplayPlugin], tuple[StableModelPlugin, dict[str, Any]]]
METHODS = pytest.mark.parametrize("make", [cls_er, esm_er, averaged])


class Outputs(SupervisedPlugin):
    """Keeps what evaluation sees and says."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, Tensor, Tensor]] = []

    def after_eval_forward(self, strategy: Any, **kwargs: Any) -> None:
        self.seen.append((strategy.mb_x, strategy.mb_y, strategy.mb_output))


@METHODS
def test_the_stable_model_is_evaluated_and_the_working_model_goes_on(
    make: Make, naive: Any, make_scenario: Any, make_batchnorm_model: Any, silent: Any
) -> None:
    replay, outputs, metrics = BalancedReplayPlugin(30, 8), Outputs(), DomainMetrics()
    plugin, criterion = make(replay)
    model = make_batchnorm_model()
    strategy = naive(
        model, [replay, plugin, outputs], evaluator=silent(metrics), **criterion
    )
    scenario = make_scenario()
    for t, experience in enumerate(scenario.train_stream):
        strategy.train(experience)
        working, modes = state(model), [m.training for m in model.modules()]
        outputs.seen.clear()
        strategy.eval(scenario.test_stream)

        assert strategy.model is model
        assert [m.training for m in model.modules()] == modes
        assert all(torch.equal(working[k], v) for k, v in state(model).items())
        stable = copy.deepcopy(plugin.stable.model)
        assert stable is not None and not stable.training
        differs = copy.deepcopy(model).eval()
        for x, _, logits in outputs.seen:
            assert torch.equal(logits, stable(x))
            assert not torch.allclose(logits, differs(x), atol=1e-3)
        for domain, (x, y, _) in enumerate(outputs.seen[::2]):
            x2, y2, _ = outputs.seen[2 * domain + 1]
            x, y = torch.cat([x, x2]), torch.cat([y, y2])
            accuracy = 100 * (stable(x).argmax(dim=1) == y).float().mean()
            assert metrics.matrix[t, domain] == pytest.approx(accuracy.item())


@METHODS
def test_evaluation_in_the_middle_of_training_changes_nothing(
    make: Make, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, results = make_scenario(), []
    for often in (False, True):
        replay = BalancedReplayPlugin(30, 8)
        plugin, criterion = make(replay)
        model = make_model()
        periodic = {"eval_every": 1, "peval_mode": "iteration"} if often else {}
        torch.manual_seed(4)
        # Avalanche's own loaders draw a random number in each evaluation.
        plugins = [TensorLoaderPlugin(), replay, plugin]
        strategy = naive(model, plugins, **periodic, **criterion)
        strategy.train(scenario.train_stream, eval_streams=[scenario.test_stream[:1]])
        results.append((state(model), state(plugin.stable.model)))
    for plain, evaluated in zip(*results, strict=True):
        assert all(torch.equal(plain[name], evaluated[name]) for name in plain)


@METHODS
def test_an_evaluation_that_was_broken_off(
    make: Make, naive: Any, make_scenario: Any, make_batchnorm_model: Any
) -> None:
    class Break(SupervisedPlugin):
        broken = False

        def before_eval_forward(self, strategy: Any, **kwargs: Any) -> None:
            if self.broken:
                raise KeyboardInterrupt

    replay, interrupt = BalancedReplayPlugin(30, 8), Break()
    plugin, criterion = make(replay)
    model = make_batchnorm_model()
    strategy = naive(model, [replay, plugin, interrupt], **criterion)
    scenario = make_scenario()
    strategy.train(scenario.train_stream[0])
    interrupt.broken = True
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            strategy.eval(scenario.test_stream)
    interrupt.broken = False

    before = state(model)
    strategy.train(scenario.train_stream[1])
    assert strategy.model is model
    assert all(m.training for m in model.modules())
    assert not plugin.stable.model.training
    assert not torch.equal(before["0.weight"], model.state_dict()["0.weight"])


@METHODS
def test_before_training_it_is_the_model_itself_that_is_evaluated(
    make: Make, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay, outputs = BalancedReplayPlugin(30, 8), Outputs()
    plugin, criterion = make(replay)
    model = make_model()
    strategy = naive(model, [replay, plugin, outputs], **criterion)
    strategy.eval(make_scenario().test_stream)
    assert all(torch.equal(logits, model(x)) for x, _, logits in outputs.seen)
    assert strategy.model is model

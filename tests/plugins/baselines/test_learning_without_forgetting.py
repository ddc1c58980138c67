"""Learning without forgetting."""

import copy
import math
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn import functional as F

from udil_avalanche.plugins import HistoryModelPlugin, LwFPlugin


def lwf(**kwargs: Any) -> list[Any]:
    history = HistoryModelPlugin()
    return [history, LwFPlugin(history, **kwargs)]


def weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def softened(logits: list[float], temperature: float) -> list[float]:
    powers = [math.exp(logit / temperature) for logit in logits]
    return [power / sum(powers) for power in powers]


def by_hand(logits: Tensor, answers: Tensor, temperature: float) -> float:
    total = 0.0
    for row, answer in zip(logits.tolist(), answers.tolist(), strict=True):
        q, p = softened(answer, temperature), softened(row, temperature)
        total -= sum(a * math.log(b) for a, b in zip(q, p, strict=True))
    return temperature**2 * total / len(logits)


class CheckLoss(SupervisedPlugin):
    """Compares every loss with loops that have their own teacher."""

    def __init__(self, lwf: LwFPlugin) -> None:
        super().__init__()
        self.lwf = lwf
        self.teacher: nn.Module | None = None
        self.checked = 0

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        task = F.cross_entropy(strategy.mb_output, strategy.mb_y).item()
        if self.teacher is None:
            assert strategy.loss.item() == pytest.approx(task)
            assert not self.lwf.terms
            return
        with torch.no_grad():
            answers = self.teacher(strategy.mb_x)
        loss = by_hand(strategy.mb_output, answers, self.lwf.temperature)
        expected = task + self.lwf.alpha * loss
        assert strategy.loss.item() == pytest.approx(expected, rel=1e-4)
        assert float(self.lwf.terms["lwf_distillation"]) == pytest.approx(
            loss, rel=1e-4
        )
        self.checked += 1

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        self.teacher = copy.deepcopy(strategy.model).eval()


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_every_loss_is_the_formula(
    naive: Any, make_scenario: Any, temperature: float
) -> None:
    """Even with a model whose outputs differ in training mode."""
    model = nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)
    )
    plugins = lwf(alpha=0.7, temperature=temperature)
    check = CheckLoss(plugins[1])
    naive(model, [*plugins, check]).train(make_scenario().train_stream)
    assert check.checked == 2 * 4


def test_the_square_of_the_temperature_keeps_the_gradients_size(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """For large T the gradient tends to (z - z') / C, with logits that have been
    centred; without the factor it would fall by T^2."""
    norms = {}

    class Watch(SupervisedPlugin):
        def before_forward(self, strategy: Any, **kwargs: Any) -> None:
            with torch.no_grad():
                strategy.model.predictor.bias += torch.tensor([0.3, 0.0, -0.3])

        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            strategy.mb_output.retain_grad()
            strategy.loss -= F.cross_entropy(strategy.mb_output, strategy.mb_y)

        def after_backward(self, strategy: Any, **kwargs: Any) -> None:
            gradient = strategy.mb_output.grad * len(strategy.mb_y)
            norms[plugins[1].temperature] = gradient

    for temperature in (50.0, 500.0):
        plugins = lwf(temperature=temperature)
        strategy = naive(make_model(), plugins)
        stream = make_scenario().train_stream
        strategy.train(stream[0])
        strategy.plugins.insert(0, Watch())
        strategy.train_epochs, strategy.train_mb_size = 1, 64
        strategy.train(stream[1])
    expected = torch.tensor([0.3, 0.0, -0.3]).expand(64, 3) / 3
    for gradient in norms.values():
        torch.testing.assert_close(gradient, expected, rtol=0.1, atol=5e-3)


def test_a_weight_of_zero_is_fine_tuning(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, results = make_scenario(), {}
    for alpha in (0.0, 1.0, None):
        plugins = [] if alpha is None else lwf(alpha=alpha)
        strategy = naive(make_model(), plugins)
        strategy.train(scenario.train_stream)
        results[alpha] = weights(strategy.model)
    assert torch.equal(results[0.0], results[None])
    assert not torch.allclose(results[1.0], results[None], atol=1e-3)


def test_it_forgets_less_than_fine_tuning(gain_over_fine_tuning: Any) -> None:
    accuracy, forgetting = gain_over_fine_tuning(lwf(alpha=1.0))
    assert accuracy > 2 and forgetting > 10


def test_a_teacher_that_the_strategy_does_not_know_is_refused(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    with pytest.raises(ValueError, match="HistoryModelPlugin, LwFPlugin"):
        naive(make_model(), lwf()[1:]).train(make_scenario().train_stream)

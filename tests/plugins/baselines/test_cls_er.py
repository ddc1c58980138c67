"""CLS-ER: its two averages, its target and its objective."""

import copy
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn import functional as F

from udil_avalanche.plugins import BalancedReplayPlugin, CLSERPlugin
from udil_avalanche.plugins.baselines.cls_er import more_confident_logits


def slow_target(stable: Tensor, plastic: Tensor, labels: Tensor) -> Tensor:
    rows = []
    for s, p, y in zip(stable, plastic, labels, strict=True):
        rows.append(s if s.softmax(dim=0)[y] > p.softmax(dim=0)[y] else p)
    return torch.stack(rows)


def test_the_target_is_the_model_that_is_surer_of_the_truth() -> None:
    stable, plastic = torch.randn(40, 5), torch.randn(40, 5)
    labels = torch.randint(5, (40,))
    target = more_confident_logits(stable, plastic, labels)
    assert torch.equal(target, slow_target(stable, plastic, labels))
    from_stable = (target == stable).all(dim=1)
    assert 5 < from_stable.sum() < 35


class CheckSteps(SupervisedPlugin):
    """Compares gradients and averages of every iteration with slow versions."""

    def __init__(self, cls_er: CLSERPlugin) -> None:
        super().__init__()
        self.cls_er = cls_er
        self.steps, self.with_memory = 0, 0
        self.averages: dict[str, list[Tensor]] = {}

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        if not self.averages:
            weights = [p.detach().clone() for p in strategy.model.parameters()]
            self.averages = {"stable": weights, "plastic": list(weights)}

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        batch = self.cls_er.replay.batch
        twin = copy.deepcopy(strategy.model)
        twin.zero_grad()
        logits = twin(strategy.mb_x)
        loss = F.cross_entropy(logits, strategy.mb_y)
        if batch is not None:
            n = batch.n_current
            said = {}
            for name, weights in self.averages.items():
                average = copy.deepcopy(strategy.model)
                for p, w in zip(average.parameters(), weights, strict=True):
                    p.data = w
                said[name] = average(strategy.mb_x[n:]).detach()
            target = slow_target(said["stable"], said["plastic"], strategy.mb_y[n:])
            loss = loss + 0.4 * ((logits[n:] - target) ** 2).mean()
            self.with_memory += 1
        loss.backward()
        for mine, expected in zip(
            strategy.model.parameters(), twin.parameters(), strict=True
        ):
            torch.testing.assert_close(mine.grad, expected.grad, rtol=1e-4, atol=1e-6)

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        self.steps += 1
        for name, alpha in (("stable", 0.95), ("plastic", 0.7)):
            decay = min(1 - 1 / (self.steps + 1), alpha)
            self.averages[name] = [
                decay * old + (1 - decay) * new.detach()
                for old, new in zip(
                    self.averages[name], strategy.model.parameters(), strict=True
                )
            ]
            average = getattr(self.cls_er, name).model
            for mine, expected in zip(
                average.parameters(), self.averages[name], strict=True
            ):
                torch.testing.assert_close(mine.data, expected, rtol=1e-4, atol=1e-5)


def test_every_step_follows_the_objective_and_the_averages_their_schedules(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=9)
    plugin = CLSERPlugin(
        replay,
        reg_weight=0.4,
        stable_freq=1.0,
        stable_alpha=0.95,
        plastic_freq=1.0,
        plastic_alpha=0.7,
    )
    check = CheckSteps(plugin)
    strategy = naive(make_model(), [replay, plugin, check], train_epochs=2)
    for experience in make_scenario().train_stream:
        strategy.train(experience)
    assert check.steps == 3 * 8 and check.with_memory == 2 * 8
    assert plugin.terms["consistency"] > 0


@pytest.mark.parametrize(("reg_weight", "same"), [(0.0, True), (0.5, False)])
def test_without_its_term_the_working_model_is_that_of_er(
    naive: Any, make_scenario: Any, make_model: Any, reg_weight: float, same: bool
) -> None:
    models: list[nn.Module] = []
    for with_cls in (True, False):
        replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
        plugins: list[Any] = [replay]
        if with_cls:
            plugins.append(
                CLSERPlugin(
                    replay, reg_weight=reg_weight, stable_freq=1.0, plastic_freq=1.0
                )
            )
        models.append(make_model())
        torch.manual_seed(3)
        naive(models[-1], plugins).train(make_scenario().train_stream)
    pairs = zip(*(m.parameters() for m in models), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs) == same

"""ESM-ER: its error modulation, its running mean and its objective."""

import copy
import math
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import nn
from torch.nn import functional as F

from udil_avalanche.plugins import BalancedReplayPlugin, ESMERPlugin

SETTINGS = {
    "reg_weight": 0.4,
    "stable_freq": 1.0,
    "stable_alpha": 0.8,
    "loss_margin": 1.2,
    "loss_alpha": 0.7,
    "std_margin": 0.5,
    "warmup": 0.25,
}


class CheckSteps(SupervisedPlugin):
    """Compares weights, running mean and gradients of every iteration with a loop."""

    def __init__(self, esm_er: ESMERPlugin) -> None:
        super().__init__()
        self.esm_er = esm_er
        self.mean, self.updates, self.step = 0.0, 0, 0
        self.reduced, self.with_memory, self.outliers = 0, 0, 0

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        self.step = 0

    def before_forward(self, strategy: Any, **kwargs: Any) -> None:
        self.stable = copy.deepcopy(self.esm_er.stable.model)

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        batch = self.esm_er.replay.batch
        n = len(strategy.mb_y) if batch is None else batch.n_current
        x, y = strategy.mb_x, strategy.mb_y
        stable_logits = self.stable(x).detach()
        errors = [
            F.cross_entropy(logits[None], label[None]).item()
            for logits, label in zip(stable_logits[:n], y[:n], strict=True)
        ]
        twin = copy.deepcopy(strategy.model)
        twin.zero_grad()
        logits = twin(x)
        loss = torch.zeros(())
        for i, error in enumerate(errors):
            weight = 1.0
            if self.updates > 0 and error > 1.2 * self.mean:
                weight = self.mean / error
                self.reduced += 1
            loss = loss + weight * F.cross_entropy(logits[i][None], y[i][None]) / n
        if batch is not None:
            self.with_memory += 1
            loss = loss + F.cross_entropy(logits[n:], y[n:])
            loss = loss + 0.4 * ((logits[n:] - stable_logits[n:]) ** 2).mean()
        loss.backward()
        for mine, expected in zip(
            strategy.model.parameters(), twin.parameters(), strict=True
        ):
            torch.testing.assert_close(mine.grad, expected.grad, rtol=1e-3, atol=1e-5)
        self.follow(errors)

    def follow(self, errors: list[float]) -> None:
        self.step += 1
        if self.step > 2:  # a quarter of eight steps is warm-up
            average = sum(errors) / len(errors)
            variance = sum((e - average) ** 2 for e in errors) / len(errors)
            usual = [e for e in errors if e <= average + 0.5 * math.sqrt(variance)]
            self.outliers += len(errors) - len(usual)
            self.updates += 1
            decay = min(1 - 1 / self.updates, 0.7)
            batch_mean = sum(usual) / len(usual)
            self.mean = decay * self.mean + (1 - decay) * batch_mean
        mean = self.esm_er.loss_mean.item()
        assert mean == pytest.approx(self.mean, rel=1e-3, abs=1e-7)


def test_every_step_follows_a_slow_version(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=9)
    esm_er = ESMERPlugin(replay, **SETTINGS)
    check = CheckSteps(esm_er)
    strategy = naive(make_model(), [replay, check], criterion=esm_er, train_epochs=2)
    for experience in make_scenario().train_stream:
        strategy.train(experience)
    assert check.updates == esm_er.loss_updates == 3 * 6
    assert check.with_memory == 2 * 8
    assert check.reduced > 50 and check.outliers > 50
    assert 0 < esm_er.terms["error_weight"] < 1


def test_large_errors_count_as_much_as_the_mean_error() -> None:
    esm_er = ESMERPlugin(BalancedReplayPlugin(), loss_margin=1.5)
    losses = torch.tensor([0.1, 1.4, 1.6, 10.0])
    assert esm_er.error_weights(losses).tolist() == [1, 1, 1, 1], "nothing known yet"
    esm_er.update_loss_mean(torch.tensor([1.0, 1.0]))
    expected = torch.tensor([1, 1, 1 / 1.6, 0.1])
    torch.testing.assert_close(esm_er.error_weights(losses), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_equal_losses_are_no_outliers(size: int) -> None:
    for value in (0.1, 0.3, 0.7, 2.7):
        esm_er = ESMERPlugin(BalancedReplayPlugin(), std_margin=0.0)
        esm_er.update_loss_mean(torch.full((size,), value))
        assert esm_er.loss_mean.item() == pytest.approx(value)


def test_the_mean_rests_while_each_domain_warms_up(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=9)
    esm_er = ESMERPlugin(replay, warmup=0.5)
    updates: list[int] = []

    class Count(SupervisedPlugin):
        def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
            updates.append(esm_er.loss_updates)

    strategy = naive(make_model(), [replay, Count()], criterion=esm_er)
    strategy.train(make_scenario(domains=2).train_stream)
    assert updates == [0, 0, 1, 2, 2, 2, 3, 4]


def test_without_modulation_the_first_domain_is_plain_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    models: list[nn.Module] = []
    for margin in (math.inf, None, 1.0):
        replay = BalancedReplayPlugin(mem_size=30)
        kwargs: dict[str, Any] = {}
        if margin is not None:
            kwargs["criterion"] = ESMERPlugin(
                replay, loss_margin=margin, stable_freq=1.0, warmup=0.0
            )
        models.append(make_model())
        torch.manual_seed(3)
        naive(models[-1], [replay], **kwargs).train(make_scenario().train_stream[0])
    unmodulated, plain, modulated = (
        torch.cat([p.detach().flatten() for p in m.parameters()]) for m in models
    )
    torch.testing.assert_close(unmodulated, plain, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(modulated, plain, rtol=1e-4, atol=1e-4)


def test_as_a_criterion_it_is_cross_entropy_outside_of_training(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    replay = BalancedReplayPlugin(mem_size=30)
    esm_er = ESMERPlugin(replay)
    strategy = naive(make_model(), [replay], criterion=esm_er)
    strategy.train(make_scenario().train_stream)
    logits, labels = torch.randn(5, 3), torch.randint(3, (5,))
    expected = F.cross_entropy(logits, labels)
    assert esm_er(logits, labels).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("wrong", [{"loss_alpha": 1.2}, {"warmup": -0.1}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        ESMERPlugin(BalancedReplayPlugin(), **wrong)

"""Synaptic intelligence."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn import functional as F

from udil_avalanche.errors import RunError
from udil_avalanche.plugins import SynapticIntelligencePlugin

MakeOptimizer = Callable[..., torch.optim.Optimizer]


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.05)


def sgd_with_momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-2)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=1e-2)


def weights(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


class KeepBatches(SupervisedPlugin):
    def __init__(self) -> None:
        super().__init__()
        self.domains: list[list[tuple[Tensor, Tensor]]] = []

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        self.domains.append([])

    def before_forward(self, strategy: Any, **kwargs: Any) -> None:
        self.domains[-1].append((strategy.mb_x, strategy.mb_y))


def by_hand(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    domains: list[list[tuple[Tensor, Tensor]]],
    c: float,
    xi: float,
) -> list[Tensor]:
    """The whole training with the surrogate in the loss; returns Omega."""
    parameters = list(model.parameters())
    big_omega = [torch.zeros_like(p) for p in parameters]
    for batches in domains:
        start = [p.detach().clone() for p in parameters]
        small_omega = [torch.zeros_like(p) for p in parameters]
        for x, y in batches:
            task_loss = F.cross_entropy(model(x), y)
            gradients = torch.autograd.grad(task_loss, parameters, retain_graph=True)
            surrogate = sum(
                (omega * (p - p0) ** 2).sum()
                for omega, p, p0 in zip(big_omega, parameters, start, strict=True)
            )
            before = [p.detach().clone() for p in parameters]
            optimizer.zero_grad()
            (task_loss + c * surrogate).backward()
            optimizer.step()
            for i, p in enumerate(parameters):
                small_omega[i] -= gradients[i] * (p.detach() - before[i])
        for i, p in enumerate(parameters):
            distance = (p.detach() - start[i]) ** 2
            total = big_omega[i] + small_omega[i] / (distance + xi)
            big_omega[i] = torch.where(total > 0, total, torch.zeros_like(total))
    return big_omega


@pytest.mark.parametrize("make_optimizer", [sgd, sgd_with_momentum, adam])
def test_the_whole_training_is_the_papers(
    naive: Any, make_scenario: Any, make_model: Any, make_optimizer: MakeOptimizer
) -> None:
    si, keep = SynapticIntelligencePlugin(c=2.0, xi=0.1), KeepBatches()
    model = make_model()
    strategy = naive(model, [si, keep], train_epochs=2)
    strategy.optimizer = make_optimizer(model)
    strategy.train(make_scenario().train_stream)

    twin = make_model()
    expected = by_hand(twin, make_optimizer(twin), keep.domains, c=2.0, xi=0.1)
    torch.testing.assert_close(
        weights(strategy.model), weights(twin), rtol=1e-3, atol=1e-5
    )
    assert [*si.importance] == [name for name, _ in twin.named_parameters()]
    for got, omega in zip(si.importance.values(), expected, strict=True):
        assert omega.sum() > 0
        torch.testing.assert_close(got, omega, rtol=1e-3, atol=1e-5)


def test_a_strength_of_zero_is_fine_tuning(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    scenario, results = make_scenario(), {}
    for c in (0.0, 2.0, None):
        plugins = [] if c is None else [SynapticIntelligencePlugin(c)]
        strategy = naive(make_model(), plugins)
        strategy.train(scenario.train_stream[:1])
        first = weights(strategy.model)
        strategy.train(scenario.train_stream[1:])
        results[c] = (first, weights(strategy.model))
    assert torch.equal(results[0.0][1], results[None][1])
    assert torch.equal(results[2.0][0], results[None][0]), "no past in domain 1"
    assert not torch.allclose(results[2.0][1], results[None][1], atol=1e-3)


def test_it_forgets_less_than_fine_tuning(gain_over_fine_tuning: Any) -> None:
    accuracy, forgetting = gain_over_fine_tuning([SynapticIntelligencePlugin(3.0)])
    assert accuracy > 10 and forgetting > 15


def test_the_path_integral_is_what_the_loss_came_down_by(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """With small steps on the whole domain, to first order: all of it, no more."""
    experience = make_scenario().train_stream[0]
    data = [sample[:2] for sample in experience.dataset]
    x, y = torch.stack([x for x, _ in data]), torch.tensor([y for _, y in data])
    si = SynapticIntelligencePlugin()
    settings = {"train_mb_size": len(data), "train_epochs": 50}
    strategy = naive(make_model(), [si], **settings)
    strategy.optimizer.param_groups[0]["lr"] = 0.01
    loss_before = F.cross_entropy(strategy.model(x), y)
    strategy.train(experience)
    drop = loss_before - F.cross_entropy(strategy.model(x), y)
    total = sum(omega.sum() for omega in si.path_integral.values())
    assert drop > 0.3
    assert total.item() == pytest.approx(drop.item(), rel=0.02)


def test_the_surrogate_is_zero_at_the_last_domains_weights(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    si = SynapticIntelligencePlugin(c=2.0)
    surrogates: list[float] = []

    class Watch(SupervisedPlugin):
        def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
            surrogates.append(float(si.terms.get("si_surrogate", -1)))

    strategy = naive(make_model(), [si, Watch()], train_epochs=2)
    strategy.train(make_scenario().train_stream)
    assert surrogates[:8] == [-1] * 8, "there is none in domain 1"
    for domain in (surrogates[8:16], surrogates[16:]):
        assert domain[0] == 0
        assert all(value > 0 for value in domain[1:])


def test_importance_is_never_negative(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """Momentum carries weights uphill."""
    si = SynapticIntelligencePlugin(c=1.0)
    model = make_model()
    strategy = naive(model, [si], train_epochs=5)
    strategy.optimizer = sgd_with_momentum(model)
    negative = 0
    for experience in make_scenario().train_stream:
        past = copy.deepcopy(si.importance)
        strategy.train(experience)
        for name, omega in si.path_integral.items():
            negative += int((omega < 0).sum())
            assert (si.importance[name] >= 0).all()
            gained = omega > 0
            if past:
                assert (si.importance[name] > past[name])[gained].all()
    assert negative > 0


def test_weights_that_are_frozen_or_unused_have_no_importance(
    naive: Any, make_scenario: Any, make_model: Any
) -> None:
    model = make_model()
    model.encoder.requires_grad_(False)
    model.unused = nn.Linear(2, 2)
    si = SynapticIntelligencePlugin()
    naive(model, [si]).train(make_scenario().train_stream)
    assert not any(name.startswith("encoder") for name in si.importance)
    assert (si.importance["unused.weight"] == 0).all()
    assert si.importance["predictor.weight"].sum() > 0


def test_a_surrogate_that_runs_away_is_an_error_by_name(
    naive: Callable[..., Any],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], nn.Module],
) -> None:
    model = make_model()
    strategy = naive(model, [SynapticIntelligencePlugin(c=1e6)], train_epochs=10)
    first, second, _ = make_scenario().train_stream
    strategy.train(first)
    with pytest.raises(RunError, match=r"of domain 2\nTry a smaller c than 1e\+06"):
        strategy.train(second)

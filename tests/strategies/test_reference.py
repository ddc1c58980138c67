"""The plugins' strategy learns the same weights as Algorithm 1 written as a loop, by
the paper's formulas and by UDIL's default."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from avalanche.training.plugins import SupervisedPlugin

from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.plugins import HistoryModelPlugin
from udil_avalanche.strategies import UDIL
from udil_avalanche.strategies.reference import Algorithm1
from udil_avalanche.strategies.reference_default import DefaultLoop
from udil_avalanche.strategies.udil import PAPER
from udil_avalanche.theory.unification import PRESETS

N_DOMAINS = 4
MEM_SIZE = 30
SETTINGS: dict[str, Any] = {
    "batch_size_mem": 12,
    "c": 0.5,
    "lambda_d": 0.5,
    "lambda_p": 0.02,
    "lambda_s": 0.3,
    "lr_discriminator": 1e-2,
    "lr_coefficients": 0.05,
    "hidden_discriminator": 16,
}
adam = partial(torch.optim.Adam, lr=3e-3)
sgd = partial(torch.optim.SGD, lr=0.05, momentum=0.9)


@pytest.fixture(autouse=True)
def discriminators_start_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategy makes its discriminator in the first step of a domain, the loop
    before it. With a seed of their own, their weights do not depend on that."""

    def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with torch.random.fork_rng():
                torch.manual_seed(7)
                return function(*args, **kwargs)

        return call

    for name in ("__init__", "grown"):
        method = getattr(DomainDiscriminator, name)
        monkeypatch.setattr(DomainDiscriminator, name, seeded(method))


class AskHistoryInEachStep(SupervisedPlugin):
    """Touches the inputs, so that the strategy computes the history model's logits in
    each step, as the loop does, and not once for the whole domain: batches of another
    size may round differently."""

    def before_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        strategy.mb_x.add_(0)


@pytest.mark.parametrize(
    ("make_optimizer", "options"),
    [
        pytest.param(adam, {}, id="adam"),
        pytest.param(adam, {"cross_domain_threshold": 0.9}, id="threshold"),
        pytest.param(sgd, {"objective_t_power": 0.5}, id="sgd, t^0.5"),
        pytest.param(sgd, {"objective_t_power": 1.0, "preset": "BiC"}, id="BiC"),
        pytest.param(sgd, {"preset": "DER++"}, id="DER++"),
        pytest.param(adam, {"plugins": []}, id="history logits computed once"),
    ],
)
def test_both_learn_the_same_weights(
    make_model: Any,
    make_scenario: Any,
    silent: Any,
    make_optimizer: Any,
    options: dict[str, Any],
) -> None:
    settings = SETTINGS | options
    preset = PRESETS.get(settings.pop("preset", ""))
    plugins = settings.pop("plugins", [AskHistoryInEachStep()])
    same = torch.equal if plugins else partial(torch.allclose, atol=1e-6)
    scenario = make_scenario(domains=N_DOMAINS)

    model = make_model()
    strategy = UDIL(
        model=model,
        optimizer=make_optimizer(model.parameters()),
        mem_size=MEM_SIZE,
        preset=preset,
        train_mb_size=16,
        train_epochs=2,
        plugins=plugins,
        evaluator=silent(),
        **(PAPER | settings),
    )
    loop = Algorithm1(
        h=make_model(),
        memory=BalancedMemory(MEM_SIZE),
        make_optimizer=make_optimizer,
        batch_size=16,
        epochs=2,
        fixed=preset.coefficients if preset else None,
        **settings,
    )
    torch.manual_seed(1)
    weights_by_strategy = []
    for experience in scenario.train_stream:
        strategy.train(experience)
        weights_by_strategy.append(flat(strategy.model))

    torch.manual_seed(1)
    for experience, expected in zip(
        scenario.train_stream, weights_by_strategy, strict=True
    ):
        x, y, *_ = zip(*experience.dataset, strict=True)
        steps = list(loop.learn(torch.stack(x), torch.tensor(y)))
        assert len(steps) == 2 * 4
        assert same(flat(loop.h), expected)

    assert torch.equal(loop.memory.fields[0], strategy.replay.memory.fields[0])
    assert torch.equal(loop.memory.domains, strategy.replay.memory.domains)
    if strategy.discriminator is not None:
        assert same(flat(loop.d), flat(strategy.discriminator.network))


@pytest.mark.parametrize(
    ("size", "doubt"),
    [(64, 0.15), (20, 0.15), (64, 0.49)],
    ids=["whole domain", "sample of it", "temperature raised"],
)
def test_both_learn_the_same_weights_by_the_default(
    make_model: Any,
    make_scenario: Any,
    silent: Any,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    doubt: float,
) -> None:
    monkeypatch.setattr(HistoryModelPlugin, "domain_sample_size", size)
    scenario = make_scenario(domains=N_DOMAINS)
    model = make_model()
    strategy = UDIL(
        model=model,
        optimizer=sgd(model.parameters()),
        mem_size=MEM_SIZE,
        batch_size_mem=12,
        train_mb_size=16,
        train_epochs=3,
        distillation_doubt=doubt,
        plugins=[AskHistoryInEachStep()],
        evaluator=silent(),
    )
    loop = DefaultLoop(
        h=make_model(),
        memory=BalancedMemory(MEM_SIZE, stratified=True),
        make_optimizer=sgd,
        batch_size=16,
        batch_size_mem=12,
        epochs=3,
        domain_sample=size,
        distillation_doubt=doubt,
    )
    torch.manual_seed(1)
    weights_by_strategy = []
    for experience in scenario.train_stream:
        strategy.train(experience)
        weights_by_strategy.append(flat(strategy.model))
    assert (strategy.coefficients.temperature > 2) == (doubt > 0.15)

    torch.manual_seed(1)
    for experience, expected in zip(
        scenario.train_stream, weights_by_strategy, strict=True
    ):
        x, y, *_ = zip(*experience.dataset, strict=True)
        assert len(list(loop.learn(torch.stack(x), torch.tensor(y)))) == 3 * 4
        assert torch.equal(flat(loop.h), expected)
    assert torch.equal(loop.memory.fields[-1], strategy.replay.memory.fields[-1][:, 0])


def flat(module: torch.nn.Module | None) -> torch.Tensor:
    assert module is not None
    return torch.cat([p.detach().flatten() for p in module.parameters()])

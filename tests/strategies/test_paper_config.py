"""The config with the paper's formulas has those of ``strategies.udil.PAPER``."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.recipes.resolve import CONFIGS, resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.strategies import UDIL
from udil_avalanche.strategies.udil import PAPER

FILE = CONFIGS / "paper" / "rotated_mnist.yaml"
PUBLISHED = {"c": 100.0, "lambda_d": 0.5, "lr_discriminator": 1e-5}
"""The paper's weights for rotated MNIST, where they are not those in ``PAPER``."""
SIZES = {"memory": 30, "memory_batch": 12, "batch_size": 16, "epochs": 2}


def settings(**options: Any) -> RunSettings:
    return resolve(config_file=FILE, options={"domains": 3, **options})


@pytest.fixture
def learned(make_model: Any, make_scenario: Any, silent: Any) -> Any:
    """What UDIL with some arguments learns: the weights, and every Omega."""

    def learn(**arguments: Any) -> list[Tensor]:
        model = make_model()
        strategy = UDIL(
            model=model,
            optimizer=torch.optim.Adam(model.parameters(), lr=1e-5, fused=True),
            mem_size=SIZES["memory"],
            batch_size_mem=SIZES["memory_batch"],
            train_mb_size=SIZES["batch_size"],
            train_epochs=SIZES["epochs"],
            evaluator=silent(),
            **arguments,
        )
        return results(strategy, make_scenario())

    return learn


def results(strategy: Any, scenario: Any) -> list[Tensor]:
    torch.manual_seed(1)
    strategy.train(scenario.train_stream)
    weights = [weight.detach() for weight in strategy.model.parameters()]
    return [*weights, *strategy._criterion.trajectory]


def equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(map(torch.equal, one, other))


def test_it_learns_what_the_papers_arguments_learn(
    learned: Any, make_model: Any, make_scenario: Any, silent: Any
) -> None:
    strategy = build_strategy(settings(**SIZES), make_model(), evaluator=silent())
    found = results(strategy, make_scenario())
    assert len(found) == 4 + 2
    assert equal(found, learned(**PAPER | PUBLISHED))
    # Each of the formulas matters to the comparison.
    defaults = {k: p.default for k, p in signature(UDIL).parameters.items()}
    # At 0.15 the temperature of this model stays, so that nothing would differ.
    defaults["distillation_doubt"] = 0.66
    for name in PAPER:
        other = PAPER | PUBLISHED | {name: defaults[name]}
        assert not equal(found, learned(**other)), name


def test_it_is_learned_as_published() -> None:
    published = settings()
    assert (published.strategy, published.benchmark) == ("UDIL", "rotated_mnist")
    assert (published.optimizer, published.lr, published.epochs) == ("adam", 1e-5, 10)
    assert published.clip_norm is None and published.anneal == 0


def test_it_can_be_run(mnist_root: Path, tmp_path: Path) -> None:
    places = {"data": str(mnist_root), "output": str(tmp_path), "threads": 1}
    small = {"hidden": 16, "train_per_domain": 200, "hidden_discriminator": 16}
    result = run(settings(**SIZES, **small, **places))
    assert 0 < result["avg_acc"] < 100

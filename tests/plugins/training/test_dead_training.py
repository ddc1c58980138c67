"""A domain that was not learned is said to be, and nothing else is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from avalanche.training.supervised import Naive
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from udil_avalanche.models import EncoderPredictor, NearestClassMean
from udil_avalanche.plugins import DeadTrainingPlugin
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.strategies import ClosedForm


class Scale(nn.Module):
    """Multiplies by a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x


@pytest.fixture
def train(
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> Callable[..., Any]:
    """Trains plainly; returns what was said, and the model."""

    def train(lr: float = 0.1, domains: int = 2, **options: Any) -> Any:
        said: list[str] = []
        model = make_model()
        plugin = DeadTrainingPlugin("try another", said.append)
        strategy = Naive(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=lr),
            train_mb_size=16,
            train_epochs=3,
            evaluator=silent(),
            plugins=[plugin] if options.get("watched", True) else [],
        )
        for experience in make_scenario(domains).train_stream:
            if options.get("spoil"):
                options["spoil"](model)
            strategy.train(experience)
        return said, model

    return train


def test_nothing_is_said_of_training_that_works(train: Callable[..., Any]) -> None:
    assert train()[0] == []


def test_a_loss_above_guessing_is_said_at_its_domain(
    train: Callable[..., Any],
) -> None:
    def explode(model: Any) -> None:
        with torch.no_grad():
            model.predictor.weight.mul_(1e5)

    said, _ = train(lr=1e-9, spoil=explode, domains=1)
    assert len(said) == 1
    assert said[0].startswith("domain 1 was not learned: its loss is ")
    assert "with weights up to" in said[0]
    assert said[0].endswith("; try another")


def test_outputs_that_are_not_finite_are_said(train: Callable[..., Any]) -> None:
    said, _ = train(lr=1e4, domains=1)
    assert "the model's outputs are not finite; try another" in said[0]


def test_constant_outputs_are_said(train: Callable[..., Any]) -> None:
    def kill(model: Any) -> None:
        with torch.no_grad():
            model.encoder[0].bias.fill_(-500.0)

    said, _ = train(spoil=kill, domains=1)
    assert said == [
        "domain 1 was not learned: the model's outputs are the same for every sample; "
        "try another"
    ]


def test_nothing_is_said_of_a_classifier_in_closed_form(
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    """Its logits are distances, in which the cross-entropy can be any number."""
    said: list[str] = []
    encoder = nn.Sequential(make_model().encoder, Scale(100))
    strategy = ClosedForm(
        model=EncoderPredictor(encoder, NearestClassMean(16, 3)),
        train_mb_size=16,
        evaluator=silent(),
        plugins=[DeadTrainingPlugin(say=said.append)],
    )
    for experience in make_scenario(3).train_stream:
        strategy.train(experience)
    x = torch.stack([x for x, *_ in experience.dataset])
    y = torch.tensor([y for _, y, *_ in experience.dataset])
    assert cross_entropy(strategy.model(x), y) > 10
    assert said == []


def test_training_is_the_same_with_and_without_it(train: Callable[..., Any]) -> None:
    (_, one), (_, other) = train(), train(watched=False)
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, other.state_dict()[name])


@pytest.mark.parametrize(
    "method", [name for name, recipe in METHODS.items() if recipe.build_head is None]
)
def test_no_method_ends_in_silence_with_a_huge_learning_rate(
    method: str, tmp_path: Path
) -> None:
    options = {"domains": 2, "train_per_domain": 128, "test_per_domain": 32}
    options |= {"dimensions": 10, "hidden": 16, "epochs": 1, "threads": 1, "lr": 1e6}
    if METHODS[method].has_memory:
        options["memory"] = 20
    settings = resolve(
        method, "hd_balls", options={**options, "output": str(tmp_path)}, configs=None
    )
    said: list[str] = []
    result = run(settings, say=said.append)
    assert said and "was not learned" in said[0]
    assert "try a smaller lr than 1e+06" in said[0]
    assert result["not_learned"] == said

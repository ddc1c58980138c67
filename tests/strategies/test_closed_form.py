"""Classifiers in closed form, as strategies."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.models import EncoderPredictor, image_model
from udil_avalanche.models.heads import (
    ClosedFormHead,
    DiscriminantAnalysis,
    NearestClassMean,
    RandomRidge,
)
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.build import build_benchmark, build_model, build_strategy
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.strategies import ClosedForm

HEADS = [NearestClassMean, DiscriminantAnalysis, RandomRidge]
METHODS_IN_CLOSED_FORM = [
    name for name, recipe in METHODS.items() if recipe.build_head is not None
]


def learned(
    kind: type[ClosedFormHead],
    scenario: DomainScenario,
    model: EncoderPredictor,
    silent: Any,
    order: Sequence[int],
) -> ClosedForm:
    torch.manual_seed(3)
    settings = {"random_features": 50} if kind is RandomRidge else {}
    head = kind(16, 3, **settings)
    strategy = ClosedForm(
        model=EncoderPredictor(model.encoder, head),
        train_mb_size=16,
        evaluator=silent(),
    )
    for t in order:
        strategy.train(scenario.train_stream[t])
    return strategy


@pytest.mark.parametrize("kind", HEADS)
def test_the_order_of_the_domains_does_not_matter(
    kind: type[ClosedFormHead], make_scenario: Any, make_model: Any, silent: Any
) -> None:
    scenario = make_scenario(domains=4)
    inputs = torch.stack([x for e in scenario.test_stream for x, *_ in e.dataset])
    logits = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        strategy = learned(kind, scenario, make_model(), silent, order)
        logits.append(strategy.model(inputs))
    for others in logits[1:]:
        torch.testing.assert_close(others, logits[0], rtol=1e-4, atol=1e-4)
        assert torch.equal(others.argmax(dim=1), logits[0].argmax(dim=1))
    # The logits would differ if a domain had been left out.
    strategy = learned(kind, scenario, make_model(), silent, [0, 1, 2])
    assert not torch.allclose(strategy.model(inputs), logits[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", HEADS)
def test_it_is_the_classifier_of_all_samples_at_once(
    kind: type[ClosedFormHead], make_scenario: Any, make_model: Any, silent: Any
) -> None:
    scenario = make_scenario(domains=3)
    strategy = learned(kind, scenario, make_model(), silent, range(3))
    torch.manual_seed(3)
    settings = {"random_features": 50} if kind is RandomRidge else {}
    head = kind(16, 3, **settings)
    x = torch.stack([x for e in scenario.train_stream for x, *_ in e.dataset])
    y = torch.tensor([int(y) for e in scenario.train_stream for _, y, *_ in e.dataset])
    features = make_model().encoder(x).detach()
    head.observe(features, y)
    head.fit()
    torch.testing.assert_close(
        strategy.head(features), head(features), rtol=1e-4, atol=1e-4
    )


def test_the_encoder_stays_as_it_is_and_one_pass_is_enough(
    make_scenario: Any, silent: Any
) -> None:
    encoder = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16))
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    scenario = make_scenario(domains=2, size=50)
    strategy = ClosedForm(
        model=EncoderPredictor(encoder, NearestClassMean(16, 3)),
        train_mb_size=16,
        train_epochs=5,
        evaluator=silent(),
    )
    strategy.train(scenario.train_stream)
    for key, value in encoder.state_dict().items():
        assert torch.equal(value, before[key]), key
    assert strategy.head.counts.sum() == 100


def test_another_predictor_is_refused(make_model: Any, silent: Any) -> None:
    with pytest.raises(ValueError, match=r"predictor is a ClosedFormHead.*Linear"):
        ClosedForm(model=make_model(), evaluator=silent())


@pytest.mark.parametrize("name", METHODS_IN_CLOSED_FORM)
def test_a_method_has_no_memory_and_ignores_epochs(name: str, silent: Any) -> None:
    assert not METHODS[name].has_memory
    settings = resolve(name, "hd_balls", overrides=["domains=2", "epochs=7"])
    benchmark = build_benchmark(settings)
    model = build_model(settings, benchmark)
    strategy = build_strategy(settings, model, evaluator=silent())
    strategy.train(benchmark.train_stream[0])
    assert strategy.head.counts.sum() == len(benchmark.train_stream[0].dataset)


def test_features_of_images_are_those_of_the_network(
    tmp_path: Any, write_tree: Any
) -> None:
    tree = write_tree(tmp_path, {"a": {"x": 4, "y": 4}, "b": {"x": 4, "y": 4}})
    small = ["network=shufflenet_v2_x0_5", "image_size=32", f"data={tree}"]
    settings = resolve("NCM", "folders", overrides=small)
    benchmark = build_benchmark(settings)
    torch.manual_seed(0)
    model: Any = build_model(settings, benchmark)
    torch.manual_seed(0)
    whole = image_model("shufflenet_v2_x0_5", 1000, image_size=32).eval()
    images = torch.randint(256, (2, 3, 32, 32), dtype=torch.uint8)
    torch.testing.assert_close(model.encoder(images), whole.encoder(images))
    assert model.train().encoder.body.training is False

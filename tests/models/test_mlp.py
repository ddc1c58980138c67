"""The networks and the discriminator."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.training.supervised import LFL
from torch import nn

from udil_avalanche.models.discriminator import DomainDiscriminator
from udil_avalanche.models.mlp import cida_mlp, mlp


def widths(module: nn.Module) -> list[tuple[int, int]]:
    linear = [each for each in module.modules() if isinstance(each, nn.Linear)]
    return [(each.in_features, each.out_features) for each in linear]


def test_mlp_has_two_hidden_layers_and_a_linear_predictor() -> None:
    model = mlp()
    assert widths(model.encoder) == [(784, 800), (800, 800)]
    assert widths(model.predictor) == [(800, 10)]
    embeddings = model.encoder(torch.randn(3, 1, 28, 28))
    assert embeddings.shape == (3, 800) and embeddings.min() == 0
    assert model(torch.randn(3, 1, 28, 28)).shape == (3, 10)


def test_cida_mlp_is_that_of_the_circle() -> None:
    model = cida_mlp(hidden=20)
    assert widths(model.encoder) == [(100, 20), *[(20, 20)] * 4]
    assert widths(model.predictor) == [(20, 20), (20, 20), (20, 2)]
    embeddings = model.encoder(torch.randn(50, 100))
    assert embeddings.min() < 0, "the embedding itself is linear"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_grown_discriminator_knows_what_it_knew(dtype: torch.dtype) -> None:
    small = DomainDiscriminator(6, n_domains=3, hidden=8).to(dtype)
    grown = small.grown(5)
    embeddings = torch.randn(10, 6, dtype=dtype)
    assert grown(embeddings).shape == (10, 5)
    # Libraries round products of other shapes in other ways.
    torch.testing.assert_close(grown(embeddings)[:, :3], small(embeddings))
    assert all(
        mine is not theirs
        for mine, theirs in zip(grown.parameters(), small.parameters(), strict=True)
    )


def test_avalanches_lfl_holds_the_features_where_they_were(
    make_scenario: Callable[..., Any], silent: Callable[..., Any]
) -> None:
    scenario, moved = make_scenario(domains=2), []
    x = scenario.train_stream[1].dataset.batch(range(64))[0]
    for lambda_e in (0.0, 100.0):
        torch.manual_seed(0)
        model = mlp(input_size=6, n_classes=3, hidden=16)
        strategy = LFL(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            criterion=nn.CrossEntropyLoss(),
            lambda_e=lambda_e,
            train_mb_size=16,
            train_epochs=5,
            evaluator=silent(),
        )
        strategy.train(scenario.train_stream[0])
        before = model.get_features(x).detach()
        strategy.train(scenario.train_stream[1])
        moved.append((model.get_features(x) - before).norm().item())
    assert 0 < moved[1] < 0.8 * moved[0]

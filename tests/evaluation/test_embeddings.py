from typing import Any

import numpy as np
import pytest
import torch

from udil_avalanche.evaluation.embeddings import (
    SAMPLES_PER_DOMAIN,
    projected_embeddings,
)


def test_the_points_are_the_principal_components(
    make_model: Any, make_scenario: Any
) -> None:
    model, scenario = make_model(), make_scenario(domains=3, size=64)
    found = projected_embeddings(model.encoder, scenario)
    assert found["domain"] == [t for t in (1, 2, 3) for _ in range(SAMPLES_PER_DOMAIN)]

    indices = np.linspace(0, 63, SAMPLES_PER_DOMAIN).astype(int)
    samples = [e.dataset[i] for e in scenario.test_stream for i in indices.tolist()]
    assert found["label"] == [int(sample[1]) for sample in samples]
    with torch.no_grad():
        inputs = torch.stack([sample[0] for sample in samples])
        embeddings = model.encoder(inputs).double().numpy()
    centred = embeddings - embeddings.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    for axis, direction in zip(("x", "y"), directions, strict=False):
        # Up to the sign, which is free.
        expected = np.abs(centred @ direction)
        assert np.abs(found[axis]) == pytest.approx(expected, rel=1e-3, abs=1e-3)
    shares = values**2 / (values**2).sum()
    assert found["explained"] == pytest.approx(shares[:2], rel=1e-3)


def test_looking_changes_nothing(make_model: Any, make_scenario: Any) -> None:
    model, scenario = make_model(), make_scenario()
    state = torch.get_rng_state()
    first = projected_embeddings(model.encoder, scenario)
    assert model.encoder.training
    assert torch.equal(torch.get_rng_state(), state)
    assert projected_embeddings(model.encoder, scenario) == first


def test_small_domains_are_taken_whole(make_model: Any, make_scenario: Any) -> None:
    found = projected_embeddings(
        make_model().encoder, make_scenario(domains=2, size=10)
    )
    assert found["domain"] == [1] * 10 + [2] * 10


def test_a_collapsed_encoder_explains_nothing(
    make_model: Any, make_scenario: Any
) -> None:
    model = make_model()
    for parameter in model.encoder.parameters():
        torch.nn.init.zeros_(parameter)
    found = projected_embeddings(model.encoder, make_scenario(domains=2))
    assert set(found["x"]) == {0.0}
    assert found["explained"] == [0.0, 0.0]

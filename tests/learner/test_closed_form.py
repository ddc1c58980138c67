"""Classifiers in closed form in a model that lives on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.learner.frozen_models import frozen_settings, write_photos
from udil_avalanche import DomainLearner, UDILClassifier
from udil_avalanche.learner.exporting import export
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor

OWN: dict[str, dict[str, Any]] = {
    "NCM": {},
    "SLDA": {},
    "Ridge": {"random_features": 40},
}


@pytest.mark.parametrize("strategy", OWN)
def test_a_model_in_a_folder(
    strategy: str, domains: Callable[[int], Path], tmp_path: Path
) -> None:
    root = domains(3)
    said: list[str] = []
    path = tmp_path / "model"
    learner = DomainLearner(strategy, path=path, say=said.append, **OWN[strategy])
    learner.update(root / "d0.npz")
    learner = DomainLearner.load(path, say=said.append)
    learner.update(root / "d1.npz")
    assert not said
    found = learner.inspect(root / "d2.npz")
    assert found.tests.keys() == {"d0", "d1"}
    assert [risk.n_memory for risk in found.risks] == [0, 0]
    stored = np.load(root / "d1.npz")
    assert learner.score(stored["x"], stored["y"]) > 0.5

    # What predicts does without the sums.
    folder = ModelFolder(path)
    sums = {"predictor.counts", "predictor.sums", "predictor.squares"}
    assert not folder.weights().keys() & sums
    counts = folder.version().state["model"]["predictor.counts"]
    assert counts.sum() == sum(domain.samples for domain in folder.record().domains)
    done = export(folder, tmp_path / "exported.pt2")
    program = torch.export.load(done.file)
    names = {name.rpartition("predictor.")[2] for name in program.state_dict}
    assert "linear.weight" in names and not names & {"counts", "sums", "squares"}
    x = torch.from_numpy(stored["x"])
    expected = Predictor.load(path).logits(x)
    torch.testing.assert_close(program.module()(x)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("strategy", OWN)
def test_the_estimator_does_not_depend_on_the_order(strategy: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 90, 4)).astype(np.float32)
    y = (x[..., 0] + np.arange(3)[:, None] * x[..., 1] > 0).astype(int)
    found = []
    for order in ([0, 1, 2], [2, 0, 1]):
        settings = {**OWN[strategy], "standardise": False}
        model = UDILClassifier(strategy, settings=settings, random_state=3)
        for t in order:
            model.partial_fit(x[t], y[t], classes=[0, 1])
        found.append(model.predict_proba(x.reshape(-1, 4)))
    assert found[0] == pytest.approx(found[1], abs=1e-4)
    assert model.score(x[0], y[0]) > 0.7


def test_features_are_the_same_as_the_network_inside(tmp_path: Path) -> None:
    photos = write_photos(tmp_path / "photos")
    found = []
    for frozen in (False, True):
        path = tmp_path / f"model {frozen}"
        settings = {**frozen_settings(tmp_path), "frozen": frozen}
        settings["normalisation"] = "imagenet"
        learner = DomainLearner("SLDA", path=path, **settings)
        learner.update(photos / "d0")
        # From now on the network's weights are in the model's folder alone.
        Path(settings["weights"]).unlink()
        learner.update(photos / "d1")
        found.append(path)
    inside, outside = map(Predictor.load, found)
    assert inside.backbone is None and outside.backbone is not None
    images = ModelFolder(found[0]).reserves()["d1"].inputs
    torch.testing.assert_close(
        outside.logits(outside.inputs(images)),
        inside.logits(inside.inputs(images)),
        rtol=1e-3,
        atol=1e-3,
    )

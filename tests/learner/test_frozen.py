"""A model with a frozen backbone: images in, features kept, all in one folder."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.learner.frozen_models import DOMAINS, frozen_settings, write_photos
from tests.learner.stored_models import SIZE, write_image
from udil_avalanche import DomainLearner
from udil_avalanche.data.image_reading import read_image
from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.learner.evaluating import RESERVE, TEST, evaluate
from udil_avalanche.learner.forgetting import forget
from udil_avalanche.learner.inspection import memory_of
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

WIDTH = 1024
"""Features of the network."""


@pytest.fixture
def model(frozen_model: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(frozen_model, tmp_path / "model"))


@pytest.fixture
def photos(frozen_model: Path) -> Path:
    return frozen_model.parent / "photos"


def pixels(files: list[Path]) -> torch.Tensor:
    images = np.stack([read_image(file, SIZE) for file in files])
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()


@pytest.mark.parametrize(
    ("strategy", "own"),
    [
        ("UDIL", {"memory": 12}),
        ("DER++", {"memory": 12}),
        ("SLDA", {}),
        ("Ridge", {"random_features": 20}),
    ],
)
def test_domains_one_by_one_give_the_weights_of_one_run(
    strategy: str, own: dict[str, Any], tmp_path: Path
) -> None:
    photos = write_photos(tmp_path / "photos")
    settings = {**frozen_settings(tmp_path), **own, "epochs": 2}
    places = {"data": str(photos), "output": str(tmp_path / "runs")}
    of_run = resolve(strategy, "folders", options={**settings, **places})
    run(of_run)
    expected = load_file(RunFolder.of(of_run).path / "model.safetensors")

    # With features of its own: what was computed together does not matter.
    settings["cache"] = str(tmp_path / "another cache")
    for domain in DOMAINS:
        path = tmp_path / "model"
        learner = (
            DomainLearner.load(path, cache=settings["cache"])
            if path.exists()
            else DomainLearner(strategy, path=path, **settings)
        )
        learner.update(photos / domain)
    version = learner.folder.version()
    learned = {**version.state["model"], **version.weights}
    assert learned.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(learned[name], tensor), name


def test_memory_and_reserve_hold_features(frozen_model: Path, photos: Path) -> None:
    version = ModelFolder(frozen_model).version()
    record = version.record
    assert (record.input_shape, record.input_type) == ([3, SIZE, SIZE], "uint8")
    assert record.features == WIDTH
    for stored in (memory_of(version), version.reserves):
        assert stored.keys() == set(DOMAINS)
    assert memory_of(version)["d0"][0].shape == (6, WIDTH)
    # The reserve is the test images of a domain that has some.
    files = [
        photos / "d1" / "test" / colour / f"{k}.png"
        for colour in record.classes
        for k in range(4)
    ]
    expected = Predictor.of(version).inputs(pixels(files))
    torch.testing.assert_close(version.reserves["d1"].inputs, expected)


def test_the_backbone_is_stored_once(model: Path, photos: Path) -> None:
    folder = ModelFolder(model)
    [one, two] = (folder.backbone(number) for number in (1, 2))
    assert one.keys() == two.keys() and "input.mean" in one
    size = sum(tensor.nbytes for tensor in one.values())
    assert size < folder.size() < 2 * size
    # Forgetting a domain rewrites the versions, and keeps the backbone.
    assert forget(folder, "d0") == [1, 2]
    again = folder.backbone(1)
    assert all(torch.equal(again[name], tensor) for name, tensor in one.items())
    assert folder.size() < 2 * size


def test_a_damaged_backbone_is_named(model: Path) -> None:
    largest = max((model / "tensors").iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[-1] ^= 1
    largest.write_bytes(content)
    photo = torch.zeros(1, 3, SIZE, SIZE, dtype=torch.uint8)
    with pytest.raises(ModelError, match=rf"{largest.name} is missing or damaged"):
        Predictor.load(model).inputs(photo)


def test_it_goes_on_with_what_is_in_its_folder(
    model: Path, photos: Path, tmp_path: Path
) -> None:
    """The weights that it began with and the cache are gone."""
    for colour in ("blue", "green", "red"):
        for k in range(20):
            write_image(tmp_path / "d2" / colour / f"{k}.png", colour, k, (50, 50))
    learner = DomainLearner.load(model, cache=str(tmp_path / "cache"))
    assert learner.score(photos / "d0" / "test") > 0.9
    found = learner.inspect(tmp_path / "d2")
    assert found.n == 60 and found.tests.keys() == set(DOMAINS)
    unlabelled = learner.inspect(photos / "d1" / "test" / "red")
    assert unlabelled.n == 4 and unlabelled.measured is None
    record = learner.update(tmp_path / "d2")
    assert record.names == ["d0", "d1", "d2"]
    assert record.changes["d2"]["after"] > 90
    assert learner.predict(photos / "d0" / "test" / "red").tolist() == ["red"] * 4
    # These data are recognised, as data that were trained on.
    parts = {}
    for data in (tmp_path / "d2", photos):
        evaluations = evaluate(learner.folder, data)
        parts |= {each.name: (each.part, each.n) for each in evaluations}
    assert parts == {"d0": (TEST, 12), "d1": (TEST, 12), "d2": (RESERVE, 12)}
    said: list[str] = []
    again = DomainLearner.load(model, say=said.append, cache=str(tmp_path / "new"))
    assert again.update(tmp_path / "d2").number == 3
    assert "already" in said[0]


def test_images_and_their_features_are_predicted_alike(
    frozen_model: Path, photos: Path
) -> None:
    predictor = Predictor.load(frozen_model)
    x = pixels(sorted((photos / "d1" / "test").rglob("*.png")))
    assert predictor.backbone is not None
    features = predictor.backbone(x)
    found = predictor.probabilities(predictor.inputs(x))
    torch.testing.assert_close(
        found, predictor.probabilities(predictor.inputs(features))
    )
    torch.testing.assert_close(found, predictor.whole(x).softmax(dim=1))
    with pytest.raises(ModelError, match="the model takes one row of shape"):
        predictor.inputs(x[:, :, :8])


def test_a_backbone_that_cannot_be_had_is_named(photos: Path, tmp_path: Path) -> None:
    settings = frozen_settings(tmp_path)
    Path(settings["weights"]).unlink()
    learner = DomainLearner("ER", path=tmp_path / "model", memory=8, **settings)
    with pytest.raises(SettingsError, match=r"weights\.pth: there is no such file"):
        learner.update(photos / "d0")
    assert not (tmp_path / "model").exists()

"""Testing a version on labelled samples."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.learner.conftest import write_domain
from udil_avalanche.cli.main import main
from udil_avalanche.errors import ModelError
from udil_avalanche.learner.evaluating import evaluate, together
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.reading import (
    all_inputs,
    class_names,
    new_domain,
    read_samples,
)
from udil_avalanche.learner.training import learn_domain
from udil_avalanche.recipes.resolve import resolve

RESERVE = 40


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two domains: d0 is not split, d1 has test samples."""
    root = tmp_path_factory.mktemp("evaluating") / "data"
    root.mkdir()
    write_domain(root / "d0.npz", 0, split=False)
    write_domain(root / "d1.npz", 1, split=True)
    return root


@pytest.fixture(scope="module")
def model(root: Path) -> ModelFolder:
    """A model with two versions, one for each domain."""
    folder = ModelFolder(root.parent / "model")
    options = {"epochs": 5, "hidden": 32, "memory": 40}
    settings = resolve("ER", "arrays", options=options)
    samples = read_samples(root)
    classes = class_names(samples)
    for number, each in enumerate(samples, start=1):
        before = folder.version(number - 1) if number > 1 else None
        domain = new_domain(each, classes, reserve=RESERVE)
        version = learn_domain(
            before, domain, settings, classes, number=number, reserve=RESERVE
        )
        folder.write(version)
        folder.make_current(number)
    return folder


def accuracy(model: ModelFolder, number: int, x: Any, y: Any) -> float:
    predictor = Predictor.load(model.path, number)
    predicted = predictor.logits(predictor.inputs(x)).argmax(dim=1).numpy()
    names = np.array(predictor.classes)
    return float((names[predicted] == y.astype(str)).mean())


def test_what_was_trained_on_is_not_tested_on(model: ModelFolder, root: Path) -> None:
    known, split = evaluate(model, root)
    assert (known.name, known.part, known.n) == ("d0", "reserve", RESERVE)
    reserve = model.reserves()["d0"]
    right = accuracy(model, 2, reserve.inputs.numpy(), reserve.labels.numpy())
    assert known.accuracy.value == pytest.approx(right)
    with np.load(root / "d1.npz") as stored:
        x, y = stored["x_test"], stored["y_test"]
    assert (split.part, split.n) == ("test samples", len(y))
    assert split.accuracy.value == pytest.approx(accuracy(model, 2, x, y))


def test_new_samples_are_all_tested_on(model: ModelFolder, tmp_path: Path) -> None:
    file = write_domain(tmp_path / "new.npz", 2, n=60, split=False)
    [found] = evaluate(model, file)
    assert (found.name, found.part, found.n) == ("new", "all samples", 60)
    with np.load(file) as stored:
        x, y = stored["x"], stored["y"]
    [earlier] = evaluate(model, file, number=1)
    assert earlier.accuracy.value == pytest.approx(accuracy(model, 1, x, y))
    for name, share in found.of_classes.items():
        own = y.astype(str) == name
        assert share.n == own.sum()
        assert share.value == pytest.approx(accuracy(model, 2, x[own], y[own]))


def test_without_a_reserve_it_says_that_the_samples_were_trained_on(
    root: Path, tmp_path: Path
) -> None:
    folder = ModelFolder(tmp_path / "model")
    [samples] = read_samples(root / "d0.npz")
    classes = class_names([samples])
    settings = resolve("ER", "arrays", options={"epochs": 1, "hidden": 8})
    domain = new_domain(samples, classes, reserve=0)
    folder.write(learn_domain(None, domain, settings, classes, number=1, reserve=0))
    folder.make_current(1)
    [found] = evaluate(folder, root / "d0.npz")
    assert (found.part, found.n) == ("trained on", 240)


def test_all_domains_together(model: ModelFolder, root: Path) -> None:
    found = list(evaluate(model, root))
    everything = together(found)
    assert everything.n == sum(each.n for each in found)
    expected = found[0].confusion + found[1].confusion
    assert everything.confusion.tolist() == expected.tolist()


def test_images_are_tested_on(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    rng = np.random.default_rng(0)
    for name in ("day/cat", "day/dog", "night/cat", "night/dog"):
        (root / name).mkdir(parents=True)
        for k in range(5):
            pixels = rng.integers(0, 256, size=(20, 20, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{k}.png")
    folder = ModelFolder(tmp_path / "model")
    samples = read_samples(root, image_size=16)
    classes = class_names(samples)
    options = {"epochs": 1, "image_size": 16, "workers": 0}
    settings = resolve("ER", "folders", options=options)
    domain = new_domain(samples[0], classes, reserve=0)
    folder.write(learn_domain(None, domain, settings, classes, number=1, reserve=0))
    folder.make_current(1)
    first, second = evaluate(folder, root)
    assert (first.part, second.part) == ("trained on", "all samples")
    expected = Predictor.load(folder.path).probabilities(all_inputs(samples[0]))
    assert np.allclose(first.probabilities, expected, atol=1e-5)
    file = tmp_path / "x.npz"
    np.savez(file, x=np.zeros((4, 3)), y=np.array([0, 1, 0, 1]))
    with pytest.raises(ModelError, match=r"has arrays, but .* learned from folders"):
        list(evaluate(folder, file))


def test_a_class_that_the_model_does_not_know_is_named(
    model: ModelFolder, tmp_path: Path
) -> None:
    file = tmp_path / "other.npz"
    np.savez(file, x=np.zeros((4, 8), np.float32), y=np.array([0, 1, 7, 9]))
    with pytest.raises(ModelError, match=r"other: .* the class 7 and 9; it knows 0, 1"):
        list(evaluate(model, file))


def test_the_command_shows_tables_and_draws_a_picture(
    model: ModelFolder, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "made" / "picture.png"
    command = ["evaluate", str(model.path), "--data", str(root)]
    assert main([*command, "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "d0: learned by the model, so only the samples held out" in shown
    assert shown.splitlines()[2].split()[:2] == ["d0", str(RESERVE)]
    rows = shown.partition("confusion matrix")[2].splitlines()[2:5]
    found = together(list(evaluate(model, root))).confusion.tolist()
    counts = [[int(n.replace("·", "0")) for n in row.split()[1:]] for row in rows]
    assert counts == found
    width, height = Image.open(picture).size
    assert height == width, "three rows, each three times as wide as high"


def test_the_command_answers_in_json(
    model: ModelFolder, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(model.path), "--data", str(root), "--version", "1"]
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1 and list(answer["domains"]) == ["d0", "d1"]
    one = answer["domains"]["d1"]
    right = sum(one["confusion"][k][k] for k in range(3))
    assert one["accuracy"]["value"] == pytest.approx(100 * right / one["samples"])
    assert 0 <= one["accuracy"]["low"] <= one["accuracy"]["value"] <= 100
    assert sum(each["accuracy"]["n"] for each in one["bins"]) == one["samples"]
    assert set(one["classes"]) == set(answer["class_names"]) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--picture", "x.jpg"], 2, "expected a name in .png"),
        (["--version", "9"], 1, "has no version 9: it has 1, 2"),
    ],
)
def test_mistakes_are_explained(
    model: ModelFolder,
    root: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    command = ["evaluate", str(model.path), "--data", str(root), *arguments]
    assert main(command) == code
    assert message in capsys.readouterr().err

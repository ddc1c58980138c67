"""An exported file gives the predictions of its version, or is not there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.learner import export_target, exporting
from udil_avalanche.learner.exporting import export
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.predictor import Predictor

KINDS = ["float", "byte", "image", "frozen"]
ENTRIES = ("classes", "input", "version", "history")


@pytest.fixture
def models(
    float_model: Path, byte_model: Path, image_model: Path, frozen_model: Path
) -> dict[str, Path]:
    found = (float_model, byte_model, image_model, frozen_model)
    return dict(zip(KINDS, found, strict=True))


def fresh_inputs(kind: str, n: int) -> torch.Tensor:
    rng = np.random.default_rng(3)
    if kind == "float":
        x = rng.normal(size=(n, 6)) * 10.0 ** np.arange(6)
        x[0] = 1e30  # Far out, where standardising compresses.
        return torch.from_numpy(x.astype(np.float32))
    shape = (n, 4, 5) if kind == "byte" else (n, 3, 32, 32)
    return torch.from_numpy(rng.integers(0, 256, shape, dtype=np.uint8))


def run(file: Path, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs of a file, by nothing of ours."""
    if file.suffix == ".onnx":
        session = onnxruntime.InferenceSession(file)
        logits, p = session.run(None, {"x": x.numpy()})
        return torch.from_numpy(logits), torch.from_numpy(p)
    logits, p = torch.export.load(file).module()(x)
    return logits, p


def stored_entries(file: Path) -> dict[str, Any]:
    if file.suffix == ".onnx":
        props = {each.key: each.value for each in onnx.load(file).metadata_props}
    else:
        props = dict.fromkeys(ENTRIES, "")
        torch.export.load(file, extra_files=props)
    return {name: json.loads(props[name]) for name in ENTRIES}


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_the_model(
    models: dict[str, Path], tmp_path: Path, kind: str, suffix: str
) -> None:
    file = tmp_path / f"exported{suffix}"
    done = export(ModelFolder(models[kind]), file)
    predictor = Predictor.load(models[kind])
    for n in (1, 2, 7):
        x = fresh_inputs(kind, n)
        logits, p = run(file, x)
        expected = predictor.logits(predictor.inputs(x))
        assert torch.allclose(logits, expected, rtol=1e-4, atol=1e-4)
        assert torch.allclose(p, expected.softmax(dim=1), atol=1e-5)

    assert done.check.largest_difference < 1e-4
    assert done.check.n_different == 0
    reserves = ModelFolder(models[kind]).reserves()
    checked = done.check
    if kind == "frozen":
        assert checked.n == exporting.RANDOM_IMAGES and not checked.accuracies
        assert checked.of_classifier is not None
        checked = checked.of_classifier
    if kind == "byte":
        assert not reserves and not checked.accuracies
        assert checked.n == exporting.RANDOM_INPUTS
    else:
        assert checked.n == sum(len(each) for each in reserves.values()) > 0
        for name, reserve in reserves.items():
            right = predictor.logits(reserve.inputs).argmax(dim=1) == reserve.labels
            expected_accuracy = 100 * right.float().mean().item()
            assert done.check.on_reserve[name] == pytest.approx(expected_accuracy)

    entries = stored_entries(file)
    record = predictor.record
    assert entries["classes"] == record.classes
    assert entries["version"] == 2
    assert entries["input"]["shape"] == ["batch", *record.input_shape]
    assert entries["input"]["type"] == record.input_type
    assert [each["domain"] for each in entries["history"]] == ["d0", "d1"]
    assert [each["parent"] for each in entries["history"]] == [None, 1]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "exported.md",
        f"exported{suffix}",
    ]
    # Nothing in it tells about the machine that made it.
    for path in (Path(__file__).parents[2], models[kind].parent, tmp_path):
        assert str(path).encode() not in file.read_bytes()
        assert str(path) not in done.card.read_text()


def test_an_earlier_version_with_its_own_history(
    float_model: Path, tmp_path: Path
) -> None:
    done = export(ModelFolder(float_model), tmp_path / "first.pt2", 1)
    assert done.version == 1
    [only] = stored_entries(done.file)["history"]
    assert only["domain"] == "d0"
    x = fresh_inputs("float", 5)
    expected = Predictor.load(float_model, 1).logits(x)
    assert torch.allclose(run(done.file, x)[0], expected, rtol=1e-4, atol=1e-4)


def test_a_backbone_that_computes_otherwise_is_noticed(
    frozen_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the class of noise stays the same."""
    write = exporting.write_graph

    def altered(model: Any, *rest: Any) -> Any:
        if isinstance(model, torch.nn.Sequential):
            model[0].input.std.mul_(1.1)
        graph = write(model, *rest)
        if isinstance(model, torch.nn.Sequential):
            model[0].input.std.div_(1.1)
        return graph

    monkeypatch.setattr(exporting, "write_graph", altered)
    with pytest.raises(ModelError, match="largest difference of a logit is"):
        export(ModelFolder(frozen_model), tmp_path / "exported.pt2")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_a_file_that_predicts_otherwise_is_not_left(
    float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    other, write = Predictor.load(float_model, 1), exporting.write_graph
    monkeypatch.setattr(
        exporting, "write_graph", lambda _, *rest: write(other.whole, *rest)
    )
    with pytest.raises(ModelError, match=r"another class for \d+ of \d+ inputs"):
        export(ModelFolder(float_model), tmp_path / f"exported{suffix}")
    assert not list(tmp_path.iterdir())


def test_the_card(float_model: Path, tmp_path: Path) -> None:
    done = export(ModelFolder(float_model), tmp_path / "gas.pt2")
    card = done.card.read_text()
    assert card.startswith("# Model card: model, version 2\n")
    assert "classifier of 3 classes" in card and "3, 4, 5." in card
    record = ModelFolder(float_model).record()
    for domain in record.domains:
        accuracy = done.check.accuracies[domain.name]
        assert (
            f"| {domain.name} | {domain.samples} | {domain.version} | {accuracy:.1f} % "
            f"| {domain.reserve} |"
        ) in card
    assert "by Fine-tune of udil_avalanche" in card
    assert "epochs=20" in card and "lr=0.1" in card
    assert done.check.in_words in card


def test_the_card_says_what_is_unknown(byte_model: Path, tmp_path: Path) -> None:
    done = export(ModelFolder(byte_model), tmp_path / "m.pt2")
    card = done.card.read_text()
    assert "No samples of d0, d1 are held out" in card
    assert "256 random inputs" in card
    assert "| d0 | 100 | 1 | - | nothing |" in card


def test_a_text_that_is_no_card_is_not_overwritten(
    float_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(SettingsError, match=r"README.md is not a model card"):
        export(ModelFolder(float_model), tmp_path / "README.pt2")
    assert (tmp_path / "README.md").read_text() == "mine"


def test_what_is_missing_is_said(
    float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_target.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'udil_avalanche\[onnx\]'"):
        export(ModelFolder(float_model), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())

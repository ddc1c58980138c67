"""The command predict."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learner.stored_models import SIZE, write_image
from udil_avalanche.cli.main import main
from udil_avalanche.data.image_reading import read_image
from udil_avalanche.learner.predictor import Predictor

ROOT = Path(__file__).parents[2]


def inputs(n: int = 700) -> np.ndarray:
    rng = np.random.default_rng(7)
    return (rng.normal(size=(n, 6)) * 10.0 ** np.arange(6)).astype(np.float32)


@pytest.mark.parametrize("version", [None, 1])
def test_arrays_by_the_model_in_use_or_another(
    float_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    version: int | None,
) -> None:
    file = tmp_path / "new.npz"
    np.savez(file, x=inputs())
    chosen = [] if version is None else ["--version", str(version)]
    assert main(["predict", str(float_model), str(file), "--all", *chosen]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    predictor = Predictor.load(float_model, version or 2)
    p = predictor.probabilities(torch.from_numpy(inputs()))
    assert [row["input"] for row in rows] == [f"{file}[{k}]" for k in range(700)]
    assert [row["class"] for row in rows] == [
        ["3", "4", "5"][k] for k in p.argmax(dim=1).tolist()
    ]
    shown = [[float(row[f"p({name})"]) for name in "345"] for row in rows]
    assert np.allclose(shown, p.numpy(), rtol=1e-5)
    assert [float(row["probability"]) for row in rows] == [max(each) for each in shown]


def test_images(
    image_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write_image(tmp_path / f"{k}.jpg", colour, k, (200, 150))
        for k, colour in enumerate(["red", "green", "blue"])
    ]
    out = tmp_path / "out.csv"
    assert main(["predict", str(image_model), str(tmp_path), f"--output={out}"]) == 0
    assert capsys.readouterr().out == f"{out}: 3 predictions of version 2\n"
    with out.open() as file:
        rows = list(csv.DictReader(file))
    predictor = Predictor.load(image_model)
    pixels = np.stack([read_image(each, SIZE) for each in files]).transpose(0, 3, 1, 2)
    p = predictor.probabilities(predictor.inputs(pixels))
    for row, each, file_ in zip(rows, p, files, strict=True):
        assert row["input"] == str(file_)
        assert row["class"] == predictor.classes[each.argmax()]
        assert float(row["probability"]) == pytest.approx(each.max().item(), rel=1e-5)


def test_an_unreadable_file_ends_it_or_is_skipped_on_request(
    image_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_image(tmp_path / "in" / "a.png", "red", 0, (20, 20))
    (tmp_path / "in" / "b.png").write_bytes(b"not an image")
    out = tmp_path / "out.jsonl"
    command = ["predict", str(image_model), str(tmp_path / "in"), "--output", str(out)]
    assert main(command) == 1
    complaint = capsys.readouterr().err
    assert f"{tmp_path / 'in' / 'b.png'}: not a whole image" in complaint
    assert "--skip-invalid" in complaint and complaint.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [tmp_path / "in"]

    assert main([*command, "--skip-invalid"]) == 0
    answer = capsys.readouterr()
    assert f"skipped: {tmp_path / 'in' / 'b.png'}: not a whole image" in answer.err
    assert answer.out == f"{out}: 1 prediction of version 2, 1 skipped\n"
    assert out.read_text().count("\n") == 1


def test_a_bar_on_a_terminal(
    float_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    np.save(tmp_path / "x.npy", inputs())
    command = ["predict", str(float_model), str(tmp_path / "x.npy")]
    assert main([*command, "--output", str(tmp_path / "out.npz")]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert main([*command, "--output", str(tmp_path / "out.npz")]) == 0
    shown = capsys.readouterr().err
    assert "predicting" in shown and "100%" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "answer"),
    [
        (["x.npy", "--output", "out.txt"], 2, "expected .csv or .jsonl or .npz"),
        (["x.npy", "--output", "no/out.csv"], 2, "there is no folder no"),
        (["none.npy"], 1, "none.npy: there is no such file or folder"),
        (["none.npy", "--skip-invalid"], 1, "there is no input that can be predicted"),
        (["x.npy", "--version", "7"], 1, "has no version 7: it has 1, 2"),
        (["x.npy", "--device", "abacus"], 2, "--device abacus: "),
        (["photo.png"], 1, "photo.png: the model takes .npy and .npz files with rows"),
        ([], 2, "the following arguments are required: INPUT"),
    ],
)
def test_a_mistake_is_answered_with_what_is_wrong(
    float_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    answer: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", inputs(3))
    write_image(Path("photo.png"), "red", 0, (8, 8))
    assert main(["predict", str(float_model), *arguments]) == code
    assert answer in capsys.readouterr().err.splitlines()[-1]


def test_a_folder_that_is_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", inputs(3))
    assert main(["predict", str(tmp_path), str(tmp_path / "x.npy")]) == 1
    assert "is not a model: make one by udil-run learn" in capsys.readouterr().err


LOADED = """
import sys
from udil_avalanche.cli.main import main
code = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("kind", ["float", "image", "frozen"])
def test_predicting_loads_only_what_it_needs(
    kind: str,
    float_model: Path,
    image_model: Path,
    frozen_model: Path,
    tmp_path: Path,
) -> None:
    takes_images = kind != "float"
    file = tmp_path / ("x.png" if takes_images else "x.npy")
    if takes_images:
        write_image(file, "red", 0, (40, 40))
    else:
        np.save(file, inputs(3))
    models = {"float": float_model, "image": image_model, "frozen": frozen_model}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "predict", str(models[kind]), str(file)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.startswith("input,class,probability\n")
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "torch" in loaded
    unwanted = {"avalanche", "pandas", "matplotlib", "sklearn", "scipy"}
    assert not loaded & (
        unwanted if takes_images else unwanted | {"torchvision", "PIL"}
    )

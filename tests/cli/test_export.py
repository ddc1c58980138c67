"""The command export, and its file where there is neither torch nor this package."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learner.stored_models import write_image
from udil_avalanche.cli.main import main

pytestmark = pytest.mark.slow

WITHOUT_TORCH = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "udil_avalanche", "onnx"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
{code}
import json
assert not {{"torch", "udil_avalanche", "onnx"}} & set(sys.modules)
entries = session.get_modelmeta().custom_metadata_map
print(json.dumps([json.loads(entries["classes"]), probabilities.tolist()]))
"""


def run_without_torch(code: str, folder: Path) -> tuple[list[str], np.ndarray]:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH.format(code=code)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    classes, probabilities = json.loads(done.stdout)
    return classes, np.array(probabilities)


def predicted(
    model: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], np.ndarray]:
    capsys.readouterr()
    assert main(["predict", str(model), str(file), "--all"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    classes = [column[2:-1] for column in rows[0][3:]]
    return classes, np.array([list(map(float, row[3:])) for row in rows[1:]])


def example(card: Path) -> str:
    [code] = re.findall(r"```python\n(.*?)```", card.read_text(), flags=re.DOTALL)
    return str(code)


def test_arrays_without_torch_by_the_code_on_the_card(
    float_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(float_model), str(tmp_path / "m.onnx")]) == 0
    shown = capsys.readouterr().out
    assert "Run and compared: the same class for all 40 samples in reserve" in shown
    assert re.search(r"largest difference of a logit \d", shown)
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(9, 6)) * 10.0 ** np.arange(6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    code = "import numpy\nx = numpy.load('x.npy')\n" + example(tmp_path / "m.md")
    classes, found = run_without_torch(code, tmp_path)
    expected_classes, expected = predicted(float_model, tmp_path / "x.npy", capsys)
    assert classes == expected_classes
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_photo_without_torch_by_the_code_on_the_card(
    frozen: bool,
    image_model: Path,
    frozen_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = frozen_model if frozen else image_model
    answer = ["export", str(model), str(tmp_path / "m.onnx"), "--json"]
    assert main(answer) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["compared"] > 0 and told["on_reserve"]
    assert 0 <= told["largest_difference"] < 1e-3
    assert set(told["accuracies"]) == {"d0", "d1"}
    photo = write_image(tmp_path / "photo.jpg", "green", 0, (300, 200))
    code = example(tmp_path / "m.md").replace("FILE", photo.name)
    classes, found = run_without_torch(code, tmp_path)
    expected_classes, expected = predicted(model, photo, capsys)
    assert classes == expected_classes
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_photo_by_torch_and_the_code_on_the_card(
    image_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", str(image_model), str(tmp_path / "m.pt2")]) == 0
    photo = write_image(tmp_path / "photo.jpg", "green", 0, (300, 200))
    code = example(tmp_path / "m.md").replace("FILE", photo.name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code, "m.md", "exec"), names)
    _, expected = predicted(image_model, photo, capsys)
    assert names["probabilities"].numpy() == pytest.approx(expected, abs=1e-4)
    assert names["x"].flags.writeable  # torch warns of arrays that are not


@pytest.mark.parametrize(
    ("file", "code", "answer"),
    [
        ("m.h5", 2, "m.h5: expected a name that ends in .onnx or .pt2"),
        ("no/m.onnx", 2, "no/m.onnx: there is no folder no"),
        ("m.pt2", 1, "nowhere is not a model"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    code: int,
    answer: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "nowhere", file]) == code
    complaint = capsys.readouterr().err
    assert answer in complaint and complaint.count("\n") == 1
    assert not list(tmp_path.iterdir())

"""The commands on a model: what they print, and their exit codes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.cli.main import main

QUICK = ["epochs=3", "hidden=16", "threads=1"]


def write(path: Path, seed: int, shift: float = 0.0, flip: bool = False) -> str:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    np.savez(path, x=x + np.float32(shift), y=1 - y if flip else y)
    return str(path)


@pytest.fixture
def model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    data, model = write(tmp_path / "spring.npz", 0), str(tmp_path / "model")
    learn = ["learn", model, "--data", data, "--memory", "20", "reserve=40", *QUICK]
    assert main(learn) == 0
    printed = capsys.readouterr().out
    assert "version 1 has learned spring: 160 samples, 40 in reserve" in printed
    return model


def test_learning_again_learns_nothing(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", model, "--data", str(tmp_path / "spring.npz")]) == 0
    assert "already" in capsys.readouterr().out
    other = write(tmp_path / "other.npz", 5)
    assert main(["learn", model, "--data", other]) == 1
    assert "udil-run update" in capsys.readouterr().err


def test_a_model_is_updated_rolled_back_and_forgets(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = write(tmp_path / "summer.npz", 1, shift=3.0)
    assert main(["inspect", model, "--data", new]) == 3
    assert "a new domain: update" in capsys.readouterr().out
    assert main(["update", model, "--data", new]) == 0
    printed = capsys.readouterr().out
    assert "version 2 has learned summer" in printed
    assert "spring" in printed and "alpha" in printed and "bound" in printed
    same = write(tmp_path / "again.npz", 2, shift=3.0)
    assert main(["inspect", model, "--data", same, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["kind"] == "nothing new"
    assert set(found["tests"]) == {"spring", "summer"}
    assert main(["rollback", model, "1"]) == 0
    assert "uses version 1 now" in capsys.readouterr().out
    assert main(["rollback", model, "7"]) == 1
    assert "no version 7: it has 1, 2" in capsys.readouterr().err
    assert main(["forget", model, "--domain", "spring"]) == 0
    printed = capsys.readouterr().out
    assert "version 1, 2" in printed and "still carry" in printed


def test_a_harmful_update_has_an_exit_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, first = str(tmp_path / "m"), write(tmp_path / "first.npz", 0)
    learn = ["learn", model, "--data", first, "--strategy", "Fine-tune", *QUICK]
    assert main(learn) == 0
    harmful = write(tmp_path / "harmful.npz", 1, flip=True)
    update = ["update", model, "--data", harmful, "--max-drop", "1"]
    assert main(update) == 3
    printed = capsys.readouterr().out
    assert "set aside" in printed and "it costs first " in printed
    assert f"rollback {model} 2" in " ".join(printed.split())
    assert main(["inspect", model, "--data", first, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["value"] > 0.8


def test_versions_are_printed_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "data"
    root.mkdir()
    write(root / "a.npz", 0)
    write(root / "b.npz", 1, shift=1.0)
    command = ["learn", str(tmp_path / "m"), "--data", str(root), "--json"]
    assert main([*command, "--strategy", "ER", "--memory", "20", *QUICK]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["domain"] for each in records] == ["a", "b"]
    assert records[1]["parent"] == 1
    assert 0 <= records[1]["changes"]["a"]["after"] <= 100


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["inspect", "nowhere", "--data", "x.npz"], "is not a model: make one by"),
        (["update", "nowhere", "--data", "x.npz"], "is not a model"),
        (["rollback", "nowhere", "1"], "is not a model"),
        (["forget", "nowhere", "--domain", "a"], "is not a model"),
        (["learn", "new", "--data", "missing"], "no such folder or .npz file"),
        (["learn", "new"], "--data"),
        (["learn", "new", "--data", ".", "reserve=-1"], "reserve=-1"),
        (["learn", "new", "--data", ".", "grow=true"], "for update"),
        (["update", "m", "--data", ".", "reserve=5"], "fixed when the model was made"),
        (["update", "m", "--data", ".", "--max-drop", "200"], "from 0 to 100"),
        (["learn", "new", "--data", ".", "--strategy", "UDLI"], "did you mean UDIL"),
    ],
)
def test_mistakes_are_answered_in_a_line_or_two(
    command: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) <= 2


def test_data_of_another_kind_are_refused(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "images" / "cat").mkdir(parents=True)
    assert main(["update", model, "--data", str(tmp_path / "images")]) == 1
    assert "the model learns from arrays" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "new.npz: not a complete .npz file"),
        (b"PK\x03\x04 cut short", "new.npz: not a complete .npz file"),
        ({"z": np.zeros((4, 6))}, "new.npz: has no array x, only z"),
        ({"x": np.zeros(4)}, "new.npz: x has shape (4,), which does not fit"),
    ],
)
def test_data_that_cannot_be_inspected_are_named(
    content: Any,
    reason: str,
    float_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "new.npz"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        np.savez(file, **content)
    assert main(["inspect", str(float_model), "--data", str(file)]) == 2
    assert reason in capsys.readouterr().err

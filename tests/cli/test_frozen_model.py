"""The commands on a model with a frozen backbone."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from udil_avalanche.cli.main import main


@pytest.fixture
def model(frozen_model: Path, tmp_path: Path) -> str:
    """A copy that may be changed."""
    return str(shutil.copytree(frozen_model, tmp_path / "model"))


def test_every_command_takes_images(
    model: str, frozen_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = frozen_model.parent / "photos"
    assert main(["evaluate", model, "--data", str(photos), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: each["samples"] for name, each in found["domains"].items()} == {
        "d0": 12,
        "d1": 12,
    }
    assert found["all"]["accuracy"]["value"] > 80
    assert main(["inspect", model, "--data", str(photos / "d1")]) in (0, 3, 4)
    assert main(["history", model]) == 0
    assert main(["rollback", model, "1"]) == 0
    again = ["update", model, "--data", str(photos / "d1"), "--name", "d2"]
    capsys.readouterr()
    assert main(again) == 0
    assert "version 3 has learned d2: 24 samples, 12 in reserve" in (
        capsys.readouterr().out
    )
    assert main(["forget", model, "--domain", "d0"]) == 0
    printed = capsys.readouterr().out
    assert "version 1, 2, 3" in printed
    cache = frozen_model.parent / "cache"
    assert "may still be in the cache" in printed and str(cache) in printed
    files = [str(path) for path in (photos / "d0" / "test" / "red").iterdir()]
    assert main(["predict", model, *files]) == 0
    assert capsys.readouterr().out.count(",red,") >= 3


def test_arrays_are_refused(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even features: nobody knows which network made them."""
    np.save(tmp_path / "x.npy", np.zeros((3, 1024), np.float32))
    assert main(["predict", model, str(tmp_path / "x.npy")]) == 1
    assert "takes one row of shape (3, 32, 32)" in capsys.readouterr().err

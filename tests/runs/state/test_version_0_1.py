"""Runs that version 0.1 left unfinished, within their second domain, are resumed."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from udil_avalanche.recipes.resolve import load_settings, stored_settings
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

pytestmark = pytest.mark.slow

FOLDERS = sorted(Path(__file__).with_name("version_0_1").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_run_that_version_0_1_began_is_finished_to_the_same_weights(
    folder: Path, tmp_path: Path
) -> None:
    settings = stored_settings(load_settings(folder / "settings.yaml"))
    resumed, whole = (
        settings.model_copy(update={"output": str(tmp_path / name)})
        for name in ("resumed", "whole")
    )
    path = RunFolder.of(resumed).path
    assert path.name == folder.name
    shutil.copytree(folder, path)
    said: list[str] = []
    result = run(resumed, say=said.append)
    assert "resuming after step" in said[0]

    again = run(whole)
    assert result["steps"] == again["steps"]
    weights, expected = (
        load_file(RunFolder.of(each).path / "model.safetensors")
        for each in (resumed, whole)
    )
    # Equal bit for bit where torch rounds as it did on the machine that began the run.
    for name, values in expected.items():
        assert torch.allclose(weights[name], values, atol=1e-3), name

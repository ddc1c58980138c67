"""Mutated image folders at every other command that reads images: an answer, or a
message in a line or two, never a traceback.

``pytest -m slow tests/cli/test_fuzz_images.py`` throws many more.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.fuzzing import FEW, answer, many
from tests.cli.test_fuzz_data import COUNTS, altered, change

COMMANDS: dict[str, Callable[[Path, list[str]], list[str]]] = {
    "run": lambda scratch, network: [
        *("--strategy=Fine-tune", "--benchmark=folders", "epochs=1", "threads=1"),
        *("--data", f"{scratch}/photos", "--output", f"{scratch}/runs", *network),
    ],
    "embed": lambda scratch, network: [
        *("embed", "--data", f"{scratch}/photos"),
        *("--output", f"{scratch}/features", *network),
    ],
    "inspect": lambda scratch, network: [
        *("inspect", f"{scratch}/model", "--data", f"{scratch}/photos/b"),
    ],
    "evaluate": lambda scratch, network: [
        *("evaluate", f"{scratch}/model", "--data", f"{scratch}/photos/b"),
    ],
    "predict": lambda scratch, network: [
        *("predict", f"{scratch}/model", f"{scratch}/photos/b"),
    ],
    "update": lambda scratch, network: [
        *("update", f"{scratch}/model", "--data", f"{scratch}/photos/b"),
        *("--name", "c", "--restart"),
    ],
}


@pytest.fixture
def network(tmp_path: Path) -> list[str]:
    """Settings of a small frozen network with weights of its own."""
    torch.manual_seed(0)
    state = torchvision.models.get_model("shufflenet_v2_x0_5").state_dict()
    torch.save(state, tmp_path / "weights.pth")
    return [
        *("network=shufflenet_v2_x0_5", f"weights={tmp_path / 'weights.pth'}"),
        *("frozen=true", "image_size=32", f"cache={tmp_path / 'cache'}", "workers=0"),
    ]


@pytest.fixture
def model(tmp_path: Path, network: list[str], write_tree: Any) -> Path:
    """A model of images."""
    photos = write_tree(tmp_path / "photos", COUNTS)
    learn = ["learn", str(tmp_path / "model"), "--data", str(photos)]
    code, _ = answer(*learn, "--strategy=Fine-tune", "epochs=1", "threads=1", *network)
    assert code == 0
    return tmp_path / "model"


def throw(model: Path, network: list[str], name: str, altered: list[Any]) -> int:
    """Change a copy of the images, and give a command on it."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        shutil.copytree(model, scratch / "model")
        shutil.copytree(model.parent / "photos", scratch / "photos")
        for each in altered:
            images = list((scratch / "photos").rglob("*.png"))
            if len(images) < 16 or not change(scratch / "photos", *each):
                break
        given = network if name == "run" else [s for s in network if "frozen" not in s]
        code, _ = answer(*COMMANDS[name](scratch, given))
        return code


@pytest.mark.parametrize("name", COMMANDS)
def test_images_as_they_are(model: Path, network: list[str], name: str) -> None:
    assert throw(model, network, name, []) in (0, 3)


@settings(max_examples=12, **FEW)
@given(name=st.sampled_from(sorted(COMMANDS)), altered=altered)
def test_mutated_images(
    model: Path, network: list[str], name: str, altered: list[Any]
) -> None:
    throw(model, network, name, altered)


@pytest.mark.slow
@many
@given(name=st.sampled_from(sorted(COMMANDS)), altered=altered)
def test_many_mutated_images(
    model: Path, network: list[str], name: str, altered: list[Any]
) -> None:
    throw(model, network, name, altered)

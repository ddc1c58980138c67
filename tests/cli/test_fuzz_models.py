"""Mutated model folders and mutated data at every command on a model: the same answer
as before, or one in a line or two, never a traceback.

``pytest -m slow tests/cli/test_fuzz_models.py`` throws many more.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.fuzzing import FEW, answer, damaged, damages, many

READ: dict[str, Callable[[str, str], list[str]]] = {
    "evaluate": lambda model, data: ["evaluate", model, "--data", data, "--json"],
    "predict": lambda model, data: ["predict", model, data],
    "history": lambda model, data: ["history", model, "--json"],
    "inspect": lambda model, data: ["inspect", model, "--data", data, "--json"],
}
"""The commands that leave the model as it is."""

CHANGE: dict[str, Callable[[str, str], list[str]]] = {
    "rollback": lambda model, data: ["rollback", model, "1"],
    "forget": lambda model, data: ["forget", model, "--domain", "d0"],
    "learn": lambda model, data: ["learn", model, "--data", data],
    "update": lambda model, data: ["update", model, "--data", data, "--restart"],
}

LENGTHY: dict[str, Callable[[str, str], list[str]]] = {
    "export": lambda model, data: ["export", model, f"{model}.pt2"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """New samples for the model, as one file."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 6)) * 10.0 ** np.arange(6) + 5
    y = 3 + (x[:, 0] > 5) + (x[:, 1] > 5)
    file = tmp_path_factory.mktemp("new") / "d2.npz"
    np.savez(file, x=x.astype(np.float32), y=y)
    return str(file)


def said(command: list[str], folder: str) -> tuple[int, str]:
    """The answer without the name of the folder."""
    code, out = answer(*command)
    return code, out.replace(folder, "")


def files_of(model: Path) -> list[Path]:
    found = (each.relative_to(model) for each in model.rglob("*") if each.is_file())
    return sorted(each for each in found if each.name != ".lock")


@pytest.fixture(scope="module")
def intact(float_model: Path, data: str) -> dict[str, tuple[int, str]]:
    """What the commands say about the model as it is, and as it was."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = str(Path(scratch, "model"))
        shutil.copytree(float_model, copy)
        answers = {name: said(make(copy, data), copy) for name, make in READ.items()}
        assert all(code in (0, 3) for code, _ in answers.values())
        assert answer("rollback", copy, "1")[0] == 0
        answers["version 1"] = said(READ["predict"](copy, data), copy)
        return answers


def throw(
    model: Path, data: str, intact: Any, name: str, number: int, damage: Any
) -> None:
    """Damage one file of a copy, and give a command on it."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "model")
        shutil.copytree(model, copy)
        files = files_of(copy)
        file = copy / files[number % len(files)]
        before = file.read_bytes()
        file.write_bytes(damaged(before, damage))
        # Whoever writes the number of another version into ``current`` uses that one.
        if file.read_bytes().strip() in (before.strip(), b"1"):
            return
        make = (READ | CHANGE | LENGTHY)[name]
        code, out = said(make(str(copy), data), str(copy))
        if name in READ and code in (0, 3):
            assert (code, out) == intact[name], f"{name} with a damaged {file.name}"
        if name == "rollback" and code == 0:
            after = said(READ["predict"](str(copy), data), str(copy))
            assert after[0] == 1 or after == intact["version 1"], file.name


numbers = st.integers(0, 10**6)


@settings(max_examples=40, **FEW)
@given(name=st.sampled_from([*READ, *CHANGE]), number=numbers, damage=damages)
def test_damaged_models(
    float_model: Path, data: str, intact: Any, name: str, number: int, damage: Any
) -> None:
    throw(float_model, data, intact, name, number, damage)


@pytest.mark.slow
@many
@given(name=st.sampled_from([*READ, *CHANGE, *LENGTHY]), number=numbers, damage=damages)
def test_many_damaged_models(
    float_model: Path, data: str, intact: Any, name: str, number: int, damage: Any
) -> None:
    throw(float_model, data, intact, name, number, damage)


def throw_data(model: Path, data: str, intact: Any, name: str, damage: Any) -> None:
    """Damage the data that a command on an intact model is given."""
    with tempfile.TemporaryDirectory() as scratch:
        copy, file = Path(scratch, "model"), Path(scratch, "d2.npz")
        shutil.copytree(model, copy)
        file.write_bytes(damaged(Path(data).read_bytes(), damage))
        code, out = answer(*(READ | CHANGE)[name](str(copy), str(file)))
        if name in READ and code in (0, 3):
            out = out.replace(str(file), data).replace(str(copy), "")
            assert (code, out) == intact[name], name


with_data = st.sampled_from([*(READ.keys() - {"history"}), "learn", "update"])


@settings(max_examples=20, **FEW)
@given(name=with_data, damage=damages)
def test_damaged_data_for_models(
    float_model: Path, data: str, intact: Any, name: str, damage: Any
) -> None:
    throw_data(float_model, data, intact, name, damage)


@pytest.mark.slow
@many
@given(name=with_data, damage=damages)
def test_much_damaged_data_for_models(
    float_model: Path, data: str, intact: Any, name: str, damage: Any
) -> None:
    throw_data(float_model, data, intact, name, damage)

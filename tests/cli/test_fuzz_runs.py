"""Mutated run folders at the command that made them, unfinished and done: the result of
the intact folder, bit for bit, or an answer in a line or two, never a traceback.

``pytest -m slow tests/cli/test_fuzz_runs.py`` throws many more.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.fuzzing import FEW, answer, damaged, damages, many
from udil_avalanche.cli.main import main
from udil_avalanche.runs.state.saving import SavingPlugin

TINY = [
    *("--strategy=UDIL", "--benchmark=hd_balls", "--domains=2", "--memory=4"),
    *("--train-per-domain=16", "test_per_domain=8", "dimensions=4", "hidden=4"),
    *("batch_size=8", "threads=1", "save_every=0"),
]


def figures(out: str) -> list[str]:
    """What the summary says, without the lines of progress above it."""
    return re.findall(
        r"^  (?:average accuracy|forg\w+|forward transfer) +(\S+)", out, re.M
    )


@pytest.fixture(autouse=True, scope="module")
def without_pictures() -> Any:
    """Drawing takes longer than these runs."""
    with pytest.MonkeyPatch.context() as patched:
        name = "udil_avalanche.runs.experiment._draw"
        patched.setattr(name, lambda *arguments: None)
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The output of a run that is done, and of one that was stopped in between."""
    made = tmp_path_factory.mktemp("fuzz_runs")
    with pytest.MonkeyPatch.context() as patched:
        assert main([*TINY, f"--output={made / 'done'}"]) == 0
        end_domain = SavingPlugin.end_domain

        def stop(self: Any, *arguments: Any) -> None:
            end_domain(self, *arguments)
            raise KeyboardInterrupt

        patched.setattr(SavingPlugin, "end_domain", stop)
        assert main([*TINY, f"--output={made / 'unfinished'}"]) == 130
    return {name: made / name for name in ("done", "unfinished")}


@pytest.fixture(scope="module")
def intact(folders: dict[str, Path]) -> tuple[list[str], bytes]:
    _, out = answer(*TINY, f"--output={folders['done']}")
    assert len(figures(out)) == 3
    return figures(out), weights(folders["done"])


def weights(output: Path) -> bytes:
    (file,) = output.rglob("model.safetensors")
    return file.read_bytes()


def files_of(output: Path) -> list[Path]:
    return sorted(
        each.relative_to(output)
        for each in output.rglob("*")
        if each.is_file() and each.name != ".lock" and "tensorboard" not in each.parts
    )


changes = st.one_of(
    st.tuples(st.just("damage"), damages),
    st.tuples(st.sampled_from(["remove", "pipe", "folder", "empty"]), st.none()),
)
"""Of a file: its bytes, whether it is there, and what is there instead."""


def change(file: Path, kind: str, how: Any) -> None:
    if kind == "damage":
        file.write_bytes(damaged(file.read_bytes(), how))
        return
    file.unlink()
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "empty":
            file.touch()


def throw(output: Path, intact: Any, number: int, altered: Any) -> None:
    """Change one file of a copy, and give the same command again."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "runs")
        shutil.copytree(output, copy)
        files = files_of(copy)
        file = files[number % len(files)]
        change(copy / file, *altered)
        code, out = answer(*TINY, f"--output={copy}")
        if code == 0:
            assert (figures(out), weights(copy)) == intact, f"{file}: {altered}"


numbers = st.integers(0, 10**6)
which = st.sampled_from(["done", "unfinished"])


@settings(max_examples=10, **FEW)
@given(which=which, number=numbers, altered=changes)
def test_mutated_runs(
    folders: dict[str, Path], intact: Any, which: str, number: int, altered: Any
) -> None:
    throw(folders[which], intact, number, altered)


@pytest.mark.slow
@many
@given(which=which, number=numbers, altered=changes)
def test_many_mutated_runs(
    folders: dict[str, Path], intact: Any, which: str, number: int, altered: Any
) -> None:
    throw(folders[which], intact, number, altered)

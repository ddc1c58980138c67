"""Mutated run folders, data and sweep files: answered in a line or two, never by a
traceback, and never with a wrong figure.

``pytest -m slow tests/cli/test_fuzz.py`` throws twenty times as many.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.fuzzing import FEW, answer, damaged, damages, few, json_values, many
from udil_avalanche.runs.run_folder import RunFolder

ACCURACY = 71.25


@pytest.fixture(scope="module")
def finished(write_run: Callable[..., Path], tmp_path_factory: Any) -> Path:
    output = tmp_path_factory.mktemp("fuzz")
    return write_run("ER", "hd_balls", output, accuracy=ACCURACY, domains=3)


def reported(folder: Path, change: Callable[[RunFolder], None]) -> None:
    """A report of a changed copy has the right figure, or none."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = RunFolder(Path(scratch, folder.name))
        shutil.copytree(folder, copy.path)
        change(copy)
        code, out = answer("report", scratch)
        assert f"**{ACCURACY:.1f}**" in out or code


FILES = ["result.json", "done", "settings.yaml", "metrics.jsonl", "embeddings.json"]
any_file = st.sampled_from(FILES)


def damage_a_file(finished: Path, name: str, damage: Any, sealed: bool) -> None:
    def change(copy: RunFolder) -> None:
        file = copy.path / name
        if file.exists():
            file.write_bytes(damaged(file.read_bytes(), damage))
        if not sealed:
            (copy.path / "done").write_bytes(b"")

    reported(finished, change)


def replace_an_entry(finished: Path, entry: str, value: Any) -> None:
    def change(copy: RunFolder) -> None:
        stored = json.loads((copy.path / "result.json").read_text())
        copy.finish({**stored, entry: value})

    result = json.loads((finished / "result.json").read_text())
    if entry in result and result[entry] != value:
        reported(finished, change)


ENTRIES = [
    *("benchmark", "strategy", "memory", "joint", "seed", "data", "avg_acc", "steps"),
    *("forgetting", "forward_transfer", "seconds", "peak_memory_mb", "settings"),
    *("accuracy_matrix", "random_accuracy", "versions"),
]
any_entry = st.sampled_from(ENTRIES)


@few
@given(name=any_file, damage=damages, sealed=st.booleans())
def test_damaged_run_folders(
    finished: Path, name: str, damage: Any, sealed: bool
) -> None:
    damage_a_file(finished, name, damage, sealed)


@pytest.mark.slow
@many
@given(name=any_file, damage=damages, sealed=st.booleans())
def test_many_damaged_run_folders(
    finished: Path, name: str, damage: Any, sealed: bool
) -> None:
    damage_a_file(finished, name, damage, sealed)


@few
@given(entry=any_entry, value=json_values)
def test_entries_of_another_kind(finished: Path, entry: str, value: Any) -> None:
    replace_an_entry(finished, entry, value)


@pytest.mark.slow
@many
@given(entry=any_entry, value=json_values)
def test_many_entries_of_another_kind(finished: Path, entry: str, value: Any) -> None:
    replace_an_entry(finished, entry, value)


def read_arrays(damage: Any) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        rng = np.random.default_rng(0)
        for name in ("a", "b"):
            x, y = rng.normal(size=(12, 2)), np.arange(12) % 2
            np.savez(Path(scratch, f"{name}.npz"), x=x, y=y)
        file = Path(scratch, "b.npz")
        file.write_bytes(damaged(file.read_bytes(), damage))
        options = ["--strategy=Fine-tune", "--benchmark=arrays", f"--data={scratch}"]
        output = f"--output={scratch}/runs"
        answer(*options, output, "epochs=1", "hidden=2", "threads=1")


few_runs = settings(max_examples=4, **FEW)


@few_runs
@given(damage=damages)
def test_damaged_arrays(damage: Any) -> None:
    read_arrays(damage)


@pytest.mark.slow
@many
@given(damage=damages)
def test_many_damaged_arrays(damage: Any) -> None:
    read_arrays(damage)


SWEEP = "strategies: [ER, UDIL]\nbenchmarks: [hd_balls]\nseeds: [0, 1]\nmemory: 50\n"


def list_sweep(finished: Path, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "sweep.yaml")
        file.write_bytes(content)
        answer("sweep", str(file), "--list", f"--output={scratch}")
        answer("report", str(finished), "--sweep", str(file))


sweeps = st.one_of(
    damages.map(lambda damage: damaged(SWEEP.encode(), damage)),
    st.dictionaries(
        st.sampled_from(["strategies", "benchmarks", "streams", "seeds", "settings"]),
        json_values,
    ).map(lambda entries: json.dumps(entries).encode()),
)


@few
@given(content=sweeps)
def test_sweep_files(finished: Path, content: bytes) -> None:
    list_sweep(finished, content)


@pytest.mark.slow
@many
@given(content=sweeps)
def test_many_sweep_files(finished: Path, content: bytes) -> None:
    list_sweep(finished, content)

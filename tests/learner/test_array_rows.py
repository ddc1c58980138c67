"""Arrays are read from files in parts, and are the arrays that were stored."""

import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.errors import ModelError
from udil_avalanche.learner.array_rows import ArrayRows

X = np.random.default_rng(0).normal(size=(23, 2, 3))


def stored(path: Path, x: Any, how: str) -> Path:
    path = path / f"inputs.{'npy' if how == 'npy' else 'npz'}"
    if how == "npy":
        np.save(path, x)
    else:
        save = np.savez_compressed if how == "compressed" else np.savez
        save(path, y=np.arange(len(x)), x=x)
    return path


@pytest.mark.parametrize("how", ["npy", "npz", "compressed"])
@pytest.mark.parametrize(
    "x",
    [
        X,
        X.astype(">f4"),
        np.asfortranarray(X),
        X > 0,
        X[:0],
        X.astype(np.uint8),
        X[:, 0, 0],
    ],
    ids=["double", "big-endian", "columns", "bool", "empty", "uint8", "one dimension"],
)
def test_the_parts_are_the_array(tmp_path: Path, x: Any, how: str) -> None:
    rows = ArrayRows(stored(tmp_path, x, how))
    assert len(rows) == len(x)
    parts = list(rows.parts(5))
    assert all(len(part) <= 5 for part in parts)
    if len(x):
        assert [len(part) for part in parts] == [5, 5, 5, 5, 3]
        assert np.array_equal(np.concatenate(parts), x)
        assert parts[0].dtype == x.dtype


@pytest.mark.parametrize("how", ["npy", "compressed"])
def test_only_a_part_is_in_memory(tmp_path: Path, how: str) -> None:
    x = np.zeros((40_000, 784), np.uint8)
    path = stored(tmp_path, x, how)
    tracemalloc.start()
    try:
        n = sum(len(part) for part in ArrayRows(path).parts(512))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n == 40_000
    assert peak < 4e6 < x.nbytes / 5


@pytest.mark.parametrize("how", ["npy", "npz", "compressed"])
def test_a_truncated_file_is_named(tmp_path: Path, how: str) -> None:
    path = stored(tmp_path, X, how)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(ModelError, match=rf"{path.name}: not a complete \.np[yz] file"):
        list(ArrayRows(path).parts(5))


def test_a_file_that_is_altered_inside_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path, np.zeros((50, 100), np.uint8), "npz")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] = 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a complete"):
        list(ArrayRows(path).parts(5))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such file"):
        ArrayRows(tmp_path / "none.npy")
    np.savez(tmp_path / "other.npz", a=X, b=X)
    with pytest.raises(ModelError, match="has no array x, only a, b"):
        ArrayRows(tmp_path / "other.npz")
    for name in ("text.npy", "text.npz"):
        (tmp_path / name).write_text("not an array")
        with pytest.raises(ModelError, match="not a complete"):
            ArrayRows(tmp_path / name)
    np.save(tmp_path / "objects.npy", np.array([{}, {}]), allow_pickle=True)
    with pytest.raises(ModelError, match="no rows of numbers"):
        ArrayRows(tmp_path / "objects.npy")
    np.save(tmp_path / "number.npy", np.float32(3))
    with pytest.raises(ModelError, match="no rows of numbers"):
        ArrayRows(tmp_path / "number.npy")
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(ModelError, match="not a regular file"):
        ArrayRows(tmp_path / "pipe.npy")

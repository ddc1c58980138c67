"""Every format holds the same predictions, and is whole or not there."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from udil_avalanche.learner.predictions import predictions_file

CLASSES = ["cat", 'a "dog", big', "übel"]
NAMES = ["a.jpg", "b, c.jpg", "line\nbreak.jpg", "名.jpg", "x.npz[1234567]"]
P = torch.tensor(
    [
        [0.7, 0.2, 0.1],
        [0.1, 0.8, 0.1],
        [1e-9, 1e-12, 1.0],
        [0.4, 0.3, 0.3],
        [0.0, 1 / 3, 2 / 3],
    ]
)


def write(path: Path, every_class: bool) -> Path:
    with predictions_file(path, CLASSES, every_class) as add:
        add(NAMES[:2], P[:2])
        add([], P[:0])
        add(NAMES[2:], P[2:])
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of any format: input, class, probability, and all probabilities."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
        rows = [
            {
                "input": str(name),
                "class": str(arrays["classes"][k]),
                "probability": p,
            }
            for name, k, p in zip(
                arrays["input"], arrays["class"], arrays["probability"], strict=True
            )
        ]
        for row, p in zip(rows, arrays.get("probabilities", ()), strict=False):
            row["all"] = p.tolist()
        return rows
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        for row in rows:
            if "probabilities" in row:
                assert list(row["probabilities"]) == CLASSES
                row["all"] = list(row.pop("probabilities").values())
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        columns = [f"p({name})" for name in CLASSES]
        if columns[0] in row:
            row["all"] = [float(row.pop(column)) for column in columns]
        row["probability"] = float(row["probability"])
    return rows


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npz"])
@pytest.mark.parametrize("every_class", [False, True])
def test_what_is_written_is_read(
    tmp_path: Path, suffix: str, every_class: bool
) -> None:
    rows = read(write(tmp_path / f"out{suffix}", every_class))
    assert [row["input"] for row in rows] == NAMES
    chosen = P.argmax(dim=1).tolist()
    assert [row["class"] for row in rows] == [CLASSES[k] for k in chosen]
    for row, p in zip(rows, P, strict=True):
        assert row["probability"] == pytest.approx(p.max().item(), rel=1e-5)
        assert ("all" in row) == every_class
        if every_class:
            assert row["all"] == pytest.approx(p.tolist(), rel=1e-5)
    assert [file.name for file in tmp_path.iterdir()] == [f"out{suffix}"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npz"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_text("before")
    with (
        pytest.raises(ZeroDivisionError),
        predictions_file(path, CLASSES, False) as add,
    ):
        add(NAMES[:2], P[:2])
        1 / 0  # noqa: B018
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]

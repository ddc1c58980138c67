"""Inputs come in the order of the command line, with their names."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.learner.stored_models import SIZE, write_image
from udil_avalanche.data.image_reading import read_image
from udil_avalanche.errors import ModelError
from udil_avalanche.learner.inputs import InputReader
from udil_avalanche.learner.predictor import Predictor


def refuse(problem: str) -> None:
    raise ModelError(problem)


def test_rows_of_arrays_in_batches(
    float_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.arange(7200, dtype=np.float64).reshape(1200, 6)
    Path("more").mkdir()
    for name, rows in (("more/a10", x[700:]), ("more/a2", x[600:700]), ("b", x[:600])):
        np.savez(f"{name}.npz", x=rows)
    paths = [Path("b.npz"), Path("more")]
    reader = InputReader(Predictor.load(float_model), refuse)
    batches = list(reader.batches(paths))
    assert max(len(batch.names) for batch in batches) <= 512
    assert reader.count(paths) == 1200
    names = [name for batch in batches for name in batch.names]
    assert names[:2] == ["b.npz[0]", "b.npz[1]"]
    assert names[599:601] == ["b.npz[599]", "more/a2.npz[0]"]
    assert names[-1] == "more/a10.npz[499]"
    found = torch.cat([batch.inputs for batch in batches])
    assert torch.equal(found, torch.from_numpy(x).float())


def test_images_are_decoded_ahead_and_stay_in_order(
    image_model: Path, tmp_path: Path
) -> None:
    files = [
        write_image(tmp_path / folder / f"{k}.{kind}", "red", k, (50, 30))
        for folder, kind in (("a", "png"), ("b", "jpg"))
        for k in range(12)
    ]
    write_image(tmp_path / "b" / ".hidden.png", "red", 0, (8, 8))
    (tmp_path / "b" / "notes.txt").write_text("not an image")
    predictor = Predictor.load(image_model)
    reader = InputReader(predictor, refuse)
    single = write_image(tmp_path / "c.bmp", "blue", 5, (SIZE, SIZE))
    paths = [single, tmp_path / "a", tmp_path / "b"]
    batches = list(reader.batches(paths))
    assert reader.count(paths) == 25
    names = [name for batch in batches for name in batch.names]
    assert names == [str(single), *map(str, files)]
    expected = np.stack([read_image(name, SIZE) for name in names])
    found = torch.cat([batch.inputs for batch in batches])
    assert np.array_equal(found.permute(0, 2, 3, 1).numpy(), expected)


def test_whatever_cannot_be_read_is_named_and_the_rest_is_there(
    image_model: Path, float_model: Path, tmp_path: Path
) -> None:
    problems: list[str] = []
    good = write_image(tmp_path / "good.png", "red", 0, (20, 20))
    half = write_image(tmp_path / "half.png", "red", 0, (20, 20))
    half.write_bytes(half.read_bytes()[:200])
    (tmp_path / "empty").mkdir()
    reader = InputReader(Predictor.load(image_model), problems.append)
    paths = [half, tmp_path / "none.jpg", good, tmp_path / "empty"]
    [batch] = reader.batches(paths)
    assert batch.names == [str(good)]
    assert len(problems) == 3
    for name in ("half.png", "none.jpg", "empty"):
        assert any(f"{tmp_path / name}: " in problem for problem in problems)

    problems.clear()
    x = np.ones((600, 6))
    x[3, 2], x[580, 1] = np.nan, 1e300
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "wide.npy", np.ones((4, 7)))
    np.save(tmp_path / "bytes.npy", np.ones((4, 6), np.uint8))
    reader = InputReader(Predictor.load(float_model), problems.append)
    paths = [tmp_path / f"{name}.npy" for name in ("x", "wide", "bytes")]
    batches = list(reader.batches([*paths, good]))
    names = [name for batch in batches for name in batch.names]
    assert names == [f"{paths[0]}[{row}]" for row in range(600) if row not in (3, 580)]
    assert sum(len(batch.inputs) for batch in batches) == 598
    starts = [f"{paths[0]}[3]", f"{paths[0]}[580]", *map(str, paths[1:]), str(good)]
    for problem, start in zip(problems, starts, strict=True):
        assert problem.startswith(start)
    assert "(4, 7)" in problems[2] and "learned from float32" in problems[3]


def test_a_refusal_ends_the_reading(float_model: Path, tmp_path: Path) -> None:
    x = np.ones((3, 6))
    x[1] = np.inf
    np.save(tmp_path / "x.npy", x)
    reader = InputReader(Predictor.load(float_model), refuse)
    with pytest.raises(ModelError, match=r"x.npy\[1\]: holds a number that is not fin"):
        list(reader.batches([tmp_path / "x.npy"]))

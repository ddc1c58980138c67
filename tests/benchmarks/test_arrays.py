import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from udil_avalanche.benchmarks import arrays
from udil_avalanche.benchmarks.reading.bad_data import BadData, BadDataWarning

RNG = np.random.default_rng(0)


def save(root: Path, name: str, **changed: Any) -> None:
    plain = {"x": RNG.normal(size=(50, 4)), "y": np.arange(50) % 5 * 10}
    chosen = {key: a for key, a in (plain | changed).items() if a is not None}
    np.savez(root / f"{name}.npz", **chosen)


def tensors(experience: Any) -> tuple[torch.Tensor, torch.Tensor]:
    domain = experience.dataset._flat_data._datasets[0]
    return domain.batch(torch.arange(len(domain)))


def test_one_file_a_domain(tmp_path: Path) -> None:
    for name in ("s10", "s2", "s1"):
        save(tmp_path, name)
    scenario = arrays(tmp_path)
    assert scenario.details["domain_names"] == ["s1", "s2", "s10"]
    assert scenario.details["class_names"] == ["0", "10", "20", "30", "40"]
    assert (scenario.n_classes, scenario.input_shape) == (5, (4,))
    stored = np.load(tmp_path / "s2.npz")
    x, y = tensors(scenario.train_stream[1])
    test_x, test_y = tensors(scenario.test_stream[1])
    assert (len(x), len(test_x)) == (40, 10)
    assert x.dtype == torch.float32 and y.dtype == torch.int64
    rows = {
        tuple(row): label
        for row, label in zip(
            stored["x"].astype(np.float32).tolist(), stored["y"] // 10, strict=True
        )
    }
    for row, label in zip([*x.tolist(), *test_x.tolist()], [*y, *test_y], strict=True):
        assert rows.pop(tuple(row)) == label
    assert not rows
    assert arrays(tmp_path, order="s2").details["domain_names"] == ["s2"]


def test_a_split_that_is_there_already(tmp_path: Path) -> None:
    save(tmp_path, "a", x_test=np.ones((3, 4)), y_test=np.array([10, 10, 0]))
    save(tmp_path, "b")
    scenario = arrays(tmp_path)
    assert len(scenario.train_stream[0].dataset) == 50
    x, y = tensors(scenario.test_stream[0])
    assert x.eq(1).all() and y.tolist() == [1, 1, 0]
    assert len(scenario.test_stream[1].dataset) == 10


def test_8_bit_images_stay_so_until_they_are_used(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (50, 3, 5, 5), np.uint8)
    save(tmp_path, "a", x=images)
    scenario = arrays(tmp_path)
    domain = scenario.train_stream[0].dataset._flat_data._datasets[0]
    assert domain.inputs.dtype == torch.uint8
    x, _ = tensors(scenario.train_stream[0])
    assert x.dtype == torch.float32 and 0 <= x.min() < x.max() <= 1
    assert scenario.input_shape == (3, 5, 5)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"y": None}, "has no array y, only x"),
        ({"y": np.arange(50) / 2}, "y holds float64, not integers"),
        ({"y": np.array(["cat"] * 50)}, "not integers"),
        ({"y": np.arange(49)}, r"x has shape \(50, 4\) and y \(49,\)"),
        ({"x": np.zeros(50)}, r"x has shape \(50,\)"),
        ({"x": np.array([None] * 50)}, "not a complete .npz file of numbers"),
        ({"x": np.array([["a"]] * 50)}, "x holds <U1, not real numbers"),
        ({"y": np.full(50, 2**64 - 1, np.uint64)}, "y holds 18446744073709551615, but"),
        ({"x": np.zeros((50, 0))}, r"x has shape \(50, 0\): it holds no numbers"),
        (
            {"x": np.zeros((0, 4)), "y": np.zeros(0, int)},
            r"x has shape \(0, 4\): it holds no samples",
        ),
        (
            {"x_test": np.zeros((0, 4)), "y_test": np.zeros(0, int)},
            "x_test has shape .* it holds no samples",
        ),
        ({"x_test": np.zeros((2, 4))}, "one of x_test and y_test"),
        ({"x_test": np.zeros((2, 5)), "y_test": np.zeros(2, int)}, "x_test is float64"),
        (
            {"x": np.zeros((50, 5))},
            r"inputs have shape \(5,\), but those of .*a\.npz have shape \(4,\)",
        ),
        (
            {"x": np.zeros((50, 4), np.uint8)},
            r"shape \(4,\) and 8 bits .* but those of .*a\.npz have shape",
        ),
    ],
)
def test_a_wrong_file_is_named(
    changed: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    save(tmp_path, "a")
    save(tmp_path, "wrong", **changed)
    with pytest.raises(BadData, match=reason) as caught:
        arrays(tmp_path)
    assert "wrong.npz" in str(caught.value)


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(BadData, match=r"a\.npz: not a complete"):
        arrays(tmp_path)
    save(tmp_path, "a")
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadData, match=r"a\.npz: not a complete"):
        arrays(tmp_path)
    with pytest.raises(BadData, match=r"there is no folder.*numpy\.savez"):
        arrays(tmp_path / "nowhere")


def test_a_single_array_or_a_pipe_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((20, 3)))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(BadData, match=r"a\.npz: a single array .* numpy\.savez"):
        arrays(tmp_path)
    (tmp_path / "a.npz").unlink()
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(BadData, match=r"a\.npz: not a regular file"):
        arrays(tmp_path)


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_32_bits_are_named_without_noise(tmp_path: Path) -> None:
    x = RNG.normal(size=(50, 4))
    x[3, 1] = 1e300
    save(tmp_path, "a", x=x)
    with pytest.raises(BadData, match=r"x\[3\] holds a number that is not finite"):
        arrays(tmp_path)


def test_large_labels_within_64_bits_are_kept(tmp_path: Path) -> None:
    labels = np.array([0, 2**63 - 1] * 25, np.uint64)
    save(tmp_path, "a", y=labels)
    assert arrays(tmp_path).details["class_names"] == ["0", str(2**63 - 1)]


def test_numbers_that_are_not_finite_are_named_or_counted(tmp_path: Path) -> None:
    x = RNG.normal(size=(50, 4))
    x[7, 2], x[30, 0], x[40, 1] = np.nan, np.inf, 1e39
    save(tmp_path, "a", x=x)
    with pytest.raises(BadData, match=r"x\[7\].*\n.*x\[30\].*\n.*x\[40\]"):
        arrays(tmp_path)
    with pytest.warns(BadDataWarning, match="3 faults"):
        scenario = arrays(tmp_path, skip_invalid=True)
    assert scenario.details["skipped"] == 3
    both = [tensors(s[0])[0] for s in (scenario.train_stream, scenario.test_stream)]
    kept = torch.cat(both)
    assert len(kept) == 47 and kept.isfinite().all()


def test_a_class_to_test_on_that_is_never_trained_on(tmp_path: Path) -> None:
    x_test, y_test = np.ones((3, 4)), np.array([10, 99, 99])
    save(tmp_path, "a", x_test=x_test, y_test=y_test)
    with pytest.raises(BadData, match="a: the class 99 has 2 test samples"):
        arrays(tmp_path)
    with pytest.warns(BadDataWarning, match="class 99"):
        scenario = arrays(tmp_path, skip_invalid=True)
    assert tensors(scenario.test_stream[0])[1].tolist() == [1]
    assert scenario.n_classes == 5


def test_a_member_that_is_no_array_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for key in ("x", "y"):
            archive.writestr(f"{key}.npy", b"junk")
    with pytest.raises(BadData, match=r"a\.npz: not a complete .*x is not an array"):
        arrays(tmp_path)


def test_an_ending_in_capitals_is_a_domain_too(tmp_path: Path) -> None:
    for name in ("a.npz", "B.NPZ"):
        x, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
        with (tmp_path / name).open("wb") as file:
            np.savez(file, x=x, y=y)
    assert arrays(tmp_path).details["domain_names"] == ["B", "a"]
    shutil.copy(tmp_path / "a.npz", tmp_path / "a.NPZ")
    with pytest.raises(BadData, match="are the same domain"):
        arrays(tmp_path)


def test_a_single_class_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((20, 3)), y=np.zeros(20, np.int64))
    with pytest.raises(BadData, match=r"two classes are needed, but .* have only 0"):
        arrays(tmp_path)

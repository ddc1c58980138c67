import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.benchmarks import core50, seq_core50
from udil_avalanche.benchmarks.core50 import ARCHIVES, Archive
from udil_avalanche.benchmarks.reading.bad_data import BadData

FEW: dict[str, Any] = {"objects": 12, "image_size": 32, "verify_images": False}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is fetched, and nothing is found in the home folder."""
    nowhere = Archive(ARCHIVES[128].name, "http://127.0.0.1:9/x.zip", "0")
    monkeypatch.setitem(ARCHIVES, 128, nowhere)
    small = Archive(ARCHIVES[32].name, "http://127.0.0.1:9/x.zip", "0")
    monkeypatch.setitem(ARCHIVES, 32, small)
    monkeypatch.setattr(core50, "_of_avalanche", lambda: tmp_path / "avalanche")


def files(experience: Any) -> list[str]:
    found: list[str] = experience.dataset._flat_data._datasets[0].files
    return found


def test_sessions_are_domains_and_objects_classes_in_numeric_order(
    core50_root: Path,
) -> None:
    scenario = seq_core50(core50_root, **FEW)
    assert len(scenario.train_stream) == 11
    assert scenario.details["domain_names"] == [f"s{k}" for k in range(1, 12)]
    assert scenario.details["class_names"] == [f"o{k}" for k in range(1, 13)]
    assert (scenario.n_classes, scenario.input_shape) == (12, (3, 32, 32))
    for t, (train, test) in enumerate(
        zip(scenario.train_stream, scenario.test_stream, strict=True), start=1
    ):
        assert (len(train.dataset), len(test.dataset)) == (48, 12)
        for file, label in zip(files(test), test.dataset.targets, strict=True):
            path = Path(file)
            assert path.parts[-3:-1] == (f"s{t}", f"o{label + 1}")
            assert path.name.startswith(f"C_{t:02}_{label + 1:02}_")
        assert not set(files(train)) & set(files(test))
    first = seq_core50(core50_root, **FEW, seed=1).test_stream[4]
    assert files(first) != files(scenario.test_stream[4])
    stratified = seq_core50(core50_root, **FEW, stratified=True).test_stream[4]
    assert sorted(stratified.dataset.targets) == list(range(12))


def test_a_part_of_it(core50_root: Path) -> None:
    scenario = seq_core50(
        core50_root, domains=2, objects=3, image_size=8, train_per_domain=10
    )
    assert (len(scenario.train_stream), scenario.n_classes) == (2, 3)
    assert len(scenario.train_stream[1].dataset) == 10
    with pytest.raises(BadData, match=r"s1 lacks o13, o14, o15, o16, o17 and more"):
        seq_core50(core50_root, verify_images=False)


def test_a_stand_in_is_not_taken_for_the_real_one(
    core50_root: Path, tmp_path: Path
) -> None:
    assert seq_core50(core50_root, **FEW).data == "core50-sample"
    real = shutil.copytree(core50_root / "core50_128x128", tmp_path / "core50_128x128")
    (real / "SAMPLE").unlink()
    assert seq_core50(tmp_path, **FEW).data == "core50_128x128"


@pytest.mark.parametrize("place", ["", "core50/core50_128x128", "core50_32x32"])
def test_where_it_may_lie(place: str, core50_root: Path, tmp_path: Path) -> None:
    shutil.copytree(core50_root / "core50_128x128/s1", tmp_path / place / "s1")
    scenario = seq_core50(tmp_path, domains=1, **FEW)
    assert str(tmp_path / place / "s1") in files(scenario.train_stream[0])[0]


def test_the_files_of_avalanches_dataset(core50_root: Path, tmp_path: Path) -> None:
    at = tmp_path / "avalanche" / "core50_128x128"
    shutil.copytree(core50_root / "core50_128x128/s1", at / "s1")
    (tmp_path / "avalanche" / "paths.pkl").write_bytes(b"of no use here")
    (tmp_path / "mine").mkdir()
    scenario = seq_core50(tmp_path / "mine", domains=1, **FEW)
    assert str(at) in files(scenario.train_stream[0])[0]


def test_without_data_and_network_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(core50.CORe50Unavailable) as caught:
        seq_core50(tmp_path)
    for part in (
        "http://127.0.0.1:9/x.zip",
        f"{tmp_path}/core50_128x128.zip",
        f"{tmp_path}/core50_128x128/s1/o1",
        f"python -m examples.core50_stand_in {tmp_path}",
    ):
        assert part in str(caught.value)


def test_an_archive_put_there_by_hand_is_unpacked(
    core50_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = shutil.make_archive(
        str(tmp_path / "core50_128x128"), "zip", core50_root, "core50_128x128/s1"
    )
    right = hashlib.md5(Path(packed).read_bytes()).hexdigest()
    name = ARCHIVES[128].name
    monkeypatch.setitem(ARCHIVES, 128, Archive(name, "http://127.0.0.1:9/", right))
    scenario = seq_core50(tmp_path, domains=1, objects=12, image_size=16)
    assert len(scenario.train_stream[0].dataset) == 48


def test_a_damaged_image_is_named(core50_root: Path, tmp_path: Path) -> None:
    shutil.copytree(core50_root / "core50_128x128/s1", tmp_path / "s1")
    (tmp_path / "s1/o7/C_01_07_002.png").write_bytes(b"")
    few = {**FEW, "verify_images": True, "domains": 1}
    with pytest.raises(BadData, match=r"C_01_07_002\.png: not a whole image"):
        seq_core50(tmp_path, **few)
    with pytest.warns(UserWarning, match="1 fault in the data, left out"):
        assert seq_core50(tmp_path, **few, skip_invalid=True).details["skipped"] == 1

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.benchmarks import folders
from udil_avalanche.benchmarks.reading.bad_data import BadData, BadDataWarning

Write = Callable[..., Path]
COUNTS = {
    "d1": {"cat": 5, "dog": 5},
    "d2": {"cat": 5, "dog": 5, "yak": 5},
    "d10": {"dog": 10},
}


def domain(experience: Any) -> Any:
    return experience.dataset._flat_data._datasets[0]


def names(stream: Any) -> list[str]:
    """The domain that the files of each experience are in."""
    found = [{Path(f).parents[1].name for f in domain(e).files} for e in stream]
    assert all(len(each) == 1 for each in found)
    return [each.pop() for each in found]


def test_domains_in_natural_order_and_classes_of_all_of_them(
    tmp_path: Path, write_tree: Write
) -> None:
    scenario = folders(write_tree(tmp_path, COUNTS), image_size=16)
    assert names(scenario.train_stream) == names(scenario.test_stream)
    assert names(scenario.train_stream) == ["d1", "d2", "d10"]
    assert scenario.n_classes == 3
    assert scenario.details["class_names"] == ["cat", "dog", "yak"]
    assert scenario.details["skipped"] == 0
    assert scenario.input_shape == (3, 16, 16)
    assert scenario.data == f"folders:{tmp_path.name}"
    for train, test in zip(scenario.train_stream, scenario.test_stream, strict=True):
        n = len(train.dataset) + len(test.dataset)
        assert len(test.dataset) == n // 5
        for part in (domain(train), domain(test)):
            for file, label in zip(part.files, part.targets, strict=True):
                assert ["cat", "dog", "yak"][label] == Path(file).parent.name
        assert not set(domain(train).files) & set(domain(test).files)


def test_domains_in_a_given_order(tmp_path: Path, write_tree: Write) -> None:
    write_tree(tmp_path, COUNTS)
    scenario = folders(tmp_path, order="d10, d1")
    assert names(scenario.train_stream) == ["d10", "d1"]
    assert scenario.details["class_names"] == ["cat", "dog"]
    assert names(folders(tmp_path, domains=2).train_stream) == ["d1", "d2"]
    with pytest.raises(BadData, match=r"there is no d3; .* has d1, d2, d10"):
        folders(tmp_path, order="d3")
    with pytest.raises(BadData, match="given twice"):
        folders(tmp_path, order="d1,d1")
    with pytest.raises(BadData, match="more than the 3 domains"):
        folders(tmp_path, domains=4)


def inner(root: Path, write_tree: Write) -> None:
    for name, classes in COUNTS.items():
        write_tree(root / name, {"train": classes, "test": {"dog": 2}})


def outer(root: Path, write_tree: Write) -> None:
    write_tree(root / "train", COUNTS)
    write_tree(root / "test", {name: {"dog": 2} for name in COUNTS})


def lists(root: Path, write_tree: Write) -> None:
    write_tree(root, COUNTS)
    for name in COUNTS:
        files = sorted(str(f.relative_to(root)) for f in (root / name).rglob("*.png"))
        test = [file for file in files if file.endswith(("dog/0.png", "dog/1.png"))]
        for part, members in (("test", test), ("train", sorted({*files} - {*test}))):
            text = "\n".join(f"{file} 3" for file in members)
            (root / f"{name}_{part}.txt").write_text(text + "\n")


@pytest.mark.parametrize("lay_out", [inner, outer, lists])
def test_a_split_that_is_there_already(
    lay_out: Callable[..., None], tmp_path: Path, write_tree: Write
) -> None:
    lay_out(tmp_path, write_tree)
    scenario = folders(tmp_path)
    assert scenario.details["domain_names"] == ["d1", "d2", "d10"]
    for experience in scenario.test_stream:
        assert list(experience.dataset.targets) == [1, 1]
    missing = 2 if lay_out is lists else 0
    sizes = [len(experience.dataset) for experience in scenario.train_stream]
    assert sizes == [10 - missing, 15 - missing, 10 - missing]


def test_a_class_to_test_on_that_is_never_trained_on(
    tmp_path: Path, write_tree: Write
) -> None:
    inner(tmp_path, write_tree)
    write_tree(tmp_path / "d2", {"test": {"Dog": 3}})
    with pytest.raises(
        BadData, match="d2: the class Dog has 3 test samples but no training"
    ):
        folders(tmp_path)
    with pytest.warns(BadDataWarning, match="class Dog"):
        scenario = folders(tmp_path, skip_invalid=True)
    assert scenario.details["skipped"] == 1
    assert scenario.n_classes == 3
    assert len(scenario.test_stream[1].dataset) == 2


def test_damaged_images_and_empty_classes_are_named_or_counted(
    tmp_path: Path, write_tree: Write
) -> None:
    write_tree(tmp_path, COUNTS)
    whole = tmp_path / "d1/cat/0.png"
    (tmp_path / "d1/cat/broken.jpg").write_bytes(b"nothing")
    (tmp_path / "d2/dog/short.png").write_bytes(whole.read_bytes()[:40])
    (tmp_path / "d10/zebu").mkdir()
    with pytest.raises(BadData, match="3 faults") as caught:
        folders(tmp_path)
    for name in ("broken.jpg", "short.png", "zebu"):
        assert name in str(caught.value)
    with pytest.warns(BadDataWarning, match=r"short\.png"):
        scenario = folders(tmp_path, skip_invalid=True)
    assert scenario.details["skipped"] == 3
    sizes = [len(e.dataset) for e in scenario.train_stream]
    assert sizes == [8, 12, 8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadData, match="1 fault in"):
            folders(tmp_path, verify_images=False)


def test_only_five_faults_are_named(tmp_path: Path, write_tree: Write) -> None:
    write_tree(tmp_path, COUNTS)
    for k in range(9):
        (tmp_path / "d1/cat" / f"bad{k}.png").write_bytes(b"")
    with pytest.raises(BadData, match=r"bad4\.png.*\n  and 4 more$"):
        folders(tmp_path)


def test_what_is_no_image_is_left_alone(tmp_path: Path, write_tree: Write) -> None:
    write_tree(tmp_path, COUNTS)
    (tmp_path / "README.txt").write_text("about")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "d1/cat/Thumbs.db").write_bytes(b"x")
    (tmp_path / "d1/cat/._0.png").write_bytes(b"x")
    shutil.copy(tmp_path / "d1/cat/0.png", tmp_path / "d1/cat/LOUD.PNG")
    scenario = folders(tmp_path)
    n = len(scenario.train_stream[0].dataset) + len(scenario.test_stream[0].dataset)
    assert n == 11


def test_a_wrong_layout_is_explained(tmp_path: Path, write_image: Write) -> None:
    with pytest.raises(BadData, match="<domain>/<class>/<image>"):
        folders(tmp_path / "nowhere")
    write_image(tmp_path / "d1" / "a.png")
    with pytest.raises(BadData, match="images but no classes"):
        folders(tmp_path)
    shutil.rmtree(tmp_path / "d1")
    for k in range(3):
        write_image(tmp_path / "d1" / "cat" / f"{k}.png")
    with pytest.raises(BadData, match="the data have only cat"):
        folders(tmp_path)


@pytest.mark.parametrize("place", ["loose.png", "d1/loose.jpg", "d2/train/loose.png"])
def test_an_image_beside_the_folders_is_named_or_counted(
    place: str, tmp_path: Path, write_tree: Write, write_image: Write
) -> None:
    write_tree(tmp_path, {"d1": COUNTS["d1"]})
    parts = {"train": COUNTS["d1"], "test": {"dog": 2}}
    write_tree(tmp_path / "d2", parts)
    write_image(tmp_path / place)
    with pytest.raises(BadData, match=f"{Path(place).name}: an image beside the"):
        folders(tmp_path)
    with pytest.warns(BadDataWarning, match="an image beside"):
        assert folders(tmp_path, skip_invalid=True).details["skipped"] == 1


@pytest.mark.parametrize("place", ["loop", "d1/loop"])
def test_a_link_to_a_folder_above_is_refused(
    place: str, tmp_path: Path, write_tree: Write
) -> None:
    root = write_tree(tmp_path / "photos", COUNTS)
    (root / place).symlink_to(root)
    with pytest.raises(BadData, match="loop: a link to a folder that it is in"):
        folders(root)


def test_a_link_to_a_folder_elsewhere_is_a_domain(
    tmp_path: Path, write_tree: Write
) -> None:
    root = write_tree(tmp_path / "photos", COUNTS)
    (root / "d3").symlink_to(write_tree(tmp_path / "more", COUNTS) / "d1")
    names = folders(root).details["domain_names"]
    assert names == ["d1", "d2", "d3", "d10"]


def test_a_link_that_leads_nowhere_is_no_missing_domain(
    tmp_path: Path, write_tree: Write
) -> None:
    root = write_tree(tmp_path / "photos", COUNTS)
    (root / "2023").symlink_to(tmp_path / "disk")
    with pytest.raises(BadData, match="2023: a link that leads nowhere"):
        folders(root)


def test_a_link_among_the_images_of_a_class_is_refused(
    tmp_path: Path, write_tree: Write
) -> None:
    root = write_tree(tmp_path / "photos", COUNTS)
    domain = next(each for each in root.iterdir() if each.is_dir())
    class_folder = next(domain.iterdir())
    (tmp_path / "more").mkdir()
    (class_folder / "more").symlink_to(tmp_path / "more")
    with pytest.raises(BadData, match="more: a link to a folder, which is not follow"):
        folders(root)


def test_a_domain_to_test_on_that_is_never_trained_on(
    tmp_path: Path, write_tree: Write
) -> None:
    root = tmp_path / "photos"
    write_tree(root / "train", {"2021": {"cat": 4, "dog": 4}})
    both = {name: {"cat": 4, "dog": 4} for name in ("2021", "2022")}
    write_tree(root / "test", both)
    with pytest.raises(BadData, match=r"test/2022: there is no .*train/2022"):
        folders(root)


def test_one_list_without_the_other_is_refused(
    tmp_path: Path, write_tree: Write
) -> None:
    root = write_tree(tmp_path / "photos", {"2021": {"cat": 4, "dog": 4}})
    (root / "2021_train.txt").write_text("2021/cat/0.png 0\n")
    with pytest.raises(BadData, match=r"one of 2021_train\.txt and 2021_test\.txt"):
        folders(root)
    (root / "2021_test.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadData, match=r"2021_test\.txt: not a text file"):
        folders(root)

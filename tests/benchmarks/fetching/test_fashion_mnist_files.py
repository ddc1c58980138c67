"""Fashion-MNIST from the data folder, Debian's package and a mirror."""

import gzip
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest
import torch
from torchvision.datasets import FashionMNIST

from udil_avalanche.benchmarks import load_fashion_mnist
from udil_avalanche.benchmarks.fetching.fashion_mnist_files import (
    DEBIAN_FOLDER,
    FASHION_MNIST_FILES,
    from_debian,
)
from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages
from udil_avalanche.benchmarks.fetching.raw_files import DataUnavailable


@pytest.fixture
def packed_clothes(raw_clothes: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(raw_clothes[name]) for name in raw_clothes}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def assert_same(actual: MnistImages, expected: MnistImages) -> None:
    *tensors, source = astuple(actual)
    *expected_tensors, expected_source = astuple(expected)
    assert source == expected_source
    for one, other in zip(tensors, expected_tensors, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)


@pytest.mark.parametrize("zipped", [False, True])
def test_the_data_folder_comes_first_and_torchvision_finds_the_files(
    zipped: bool,
    tmp_path: Path,
    raw_clothes: dict,
    packed_clothes: dict,
    small_clothes: MnistImages,
) -> None:
    write(tmp_path / "FashionMNIST/raw", packed_clothes if zipped else raw_clothes)

    def never(folder: Path) -> None:
        raise AssertionError("a source was asked")

    assert_same(load_fashion_mnist(tmp_path, sources=[never]), small_clothes)
    train = FashionMNIST(tmp_path, train=True)
    assert torch.equal(train.data, small_clothes.train_images)


def test_the_files_of_debians_package_are_used(
    tmp_path: Path, packed_clothes: dict, small_clothes: MnistImages
) -> None:
    installed = write(tmp_path / "installed", packed_clothes)
    source = partial(from_debian, installed=installed)
    assert_same(load_fashion_mnist(tmp_path, sources=[source]), small_clothes)
    assert_same(load_fashion_mnist(tmp_path, sources=[]), small_clothes)


def test_without_the_package_a_mirror_is_asked(
    tmp_path: Path, packed_clothes: dict, small_clothes: MnistImages, serve: Callable
) -> None:
    sources = [
        partial(from_debian, installed=tmp_path / "nowhere"),
        partial(FASHION_MNIST_FILES.from_mirrors, [serve(packed_clothes).url]),
    ]
    assert_same(load_fashion_mnist(tmp_path, sources=sources), small_clothes)


def test_digits_are_not_taken_for_clothes(
    tmp_path: Path, raw: dict, raw_clothes: dict
) -> None:
    name = "train-images-idx3-ubyte"
    folder = write(tmp_path / "FashionMNIST/raw", {**raw_clothes, name: raw[name]})
    with pytest.raises(DataUnavailable, match=f"put {name} .or the same") as caught:
        load_fashion_mnist(tmp_path, sources=[])
    assert str(folder) in str(caught.value)


def test_with_nothing_at_all_two_lines_say_what_to_do(tmp_path: Path) -> None:
    sources = [
        partial(from_debian, installed=tmp_path / "nowhere"),
        partial(FASHION_MNIST_FILES.from_mirrors, ["http://127.0.0.1:9/"]),
    ]
    with pytest.raises(DataUnavailable) as caught:
        load_fashion_mnist(tmp_path, sources=sources)
    reason, remedy = str(caught.value).splitlines()
    assert "dataset-fashion-mnist is not installed" in reason
    assert "http://127.0.0.1:9/" in reason
    assert "apt-get install dataset-fashion-mnist" in remedy
    assert str(tmp_path / "FashionMNIST" / "raw") in remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    not DEBIAN_FOLDER.is_dir(), reason="dataset-fashion-mnist is not installed"
)
def test_the_real_files(tmp_path: Path) -> None:
    clothes = load_fashion_mnist(tmp_path, sources=[from_debian])
    assert clothes.source == "fashion-mnist"
    assert clothes.train_labels.bincount().tolist() == [6000] * 10
    assert clothes.test_labels.bincount().tolist() == [1000] * 10
    assert clothes.test_images.shape == (10_000, 28, 28)
    # An ankle boot, a T-shirt; the mean that is commonly used for normalisation.
    assert clothes.train_labels[:2].tolist() == [9, 0]
    mean = clothes.train_images.float().mean().item() / 255
    assert mean == pytest.approx(0.2860, abs=1e-4)

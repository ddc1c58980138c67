"""Small files in MNIST's format, and what is in them."""

import gzip
import hashlib
import struct
from dataclasses import replace

import pytest
import torch

from udil_avalanche.benchmarks.fetching import fashion_mnist_files
from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages
from udil_avalanche.benchmarks.fetching.mnist_sources import SHA256

N_TRAIN, N_TEST = 30, 20


def idx(values: torch.Tensor) -> bytes:
    header = struct.pack(">HBB", 0, 8, values.ndim)
    return (
        header
        + struct.pack(f">{values.ndim}I", *values.shape)
        + values.numpy().tobytes()
    )


@pytest.fixture
def small() -> MnistImages:
    generator = torch.Generator().manual_seed(0)

    def draw(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(high, shape, generator=generator, dtype=torch.uint8)

    return MnistImages(
        draw(256, N_TRAIN, 28, 28),
        draw(10, N_TRAIN).long(),
        draw(256, N_TEST, 28, 28),
        draw(10, N_TEST).long(),
        source="mnist",
    )


@pytest.fixture
def small_clothes(small: MnistImages) -> MnistImages:
    return replace(
        small,
        train_images=255 - small.train_images,
        test_images=255 - small.test_images,
        source="fashion-mnist",
    )


def raw_files(images: MnistImages) -> dict[str, bytes]:
    return {
        "train-images-idx3-ubyte": idx(images.train_images),
        "train-labels-idx1-ubyte": idx(images.train_labels.byte()),
        "t10k-images-idx3-ubyte": idx(images.test_images),
        "t10k-labels-idx1-ubyte": idx(images.test_labels.byte()),
    }


@pytest.fixture
def raw(small: MnistImages, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Four small files in MNIST's format that take the place of the 55 MB."""
    contents = raw_files(small)
    for name, content in contents.items():
        monkeypatch.setitem(SHA256, name, hashlib.sha256(content).hexdigest())
    return contents


@pytest.fixture
def raw_clothes(
    small_clothes: MnistImages, monkeypatch: pytest.MonkeyPatch
) -> dict[str, bytes]:
    """The same for Fashion-MNIST."""
    contents = raw_files(small_clothes)
    for name, content in contents.items():
        sha256 = hashlib.sha256(content).hexdigest()
        monkeypatch.setitem(fashion_mnist_files.SHA256, name, sha256)
    return contents


@pytest.fixture
def packed(raw: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content) for name, content in raw.items()}

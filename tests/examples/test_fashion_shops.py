import gzip
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from examples.fashion_shops import CLASSES, DOMAINS, main
from udil_avalanche.benchmarks import folders


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Files like those of Fashion-MNIST, of 120 images."""
    folder = tmp_path / "source"
    folder.mkdir()
    labels = (np.arange(120) % 10).astype(np.uint8)
    images = np.arange(120, dtype=np.uint8)[:, None, None].repeat(28, 1).repeat(28, 2)
    for name, content, header in (
        ("train-labels-idx1-ubyte", labels, 8),
        ("train-images-idx3-ubyte", images, 16),
    ):
        packed = gzip.compress(bytes(header) + content.tobytes())
        (folder / f"{name}.gz").write_bytes(packed)
    return folder


def test_the_layout_is_one_that_folders_takes(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "shops"
    assert main([str(source), str(root), "--per-class", "2"]) == 0
    files = [file.stem for file in root.rglob("*.png")]
    assert len(files) == len(set(files)) == 100, "no image is in two domains"
    first = Image.open(root / "1-black" / "trouser" / "11.png")
    assert first.size == (28, 28) and first.getpixel((5, 5)) == (11, 11, 11)
    scenario = folders(root, image_size=28, test_share=0.5)
    assert scenario.details["domain_names"] == list(DOMAINS)
    assert set(scenario.details["class_names"]) == set(CLASSES)


def test_what_is_missing_is_said(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "shops")]) == 1
    assert "train-labels-idx1-ubyte cannot be read" in capsys.readouterr().err
    assert main([str(source), str(tmp_path / "shops"), "--per-class", "3"]) == 1
    assert "only 12 images of a t-shirt" in capsys.readouterr().err

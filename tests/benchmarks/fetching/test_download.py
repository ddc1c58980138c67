"""Downloads from a server on this machine that breaks off halfway."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.benchmarks.fetching.download import (
    CHUNK_BYTES,
    FetchError,
    fetch,
    fetch_and_unpack,
    unpack_zip,
)

CONTENT = bytes(range(256)) * 4000
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


class Server(ThreadingHTTPServer):
    """Gives its content, from where it is asked to, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.breaks_after: list[int] = []
        """After how many bytes to break off, one answer after the other."""
        self.resumes = True
        self.content = CONTENT
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/core50.zip"


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if self.path != "/core50.zip":
            self.send_error(404)
            return
        content = self.server.content
        start = 0
        if asked is not None and self.server.resumes:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header(
                "Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"
            )
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        if self.server.breaks_after:
            body = body[: self.server.breaks_after.pop(0)]
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def test_a_download_that_breaks_off_goes_on_where_it_was(
    server: Server, tmp_path: Path
) -> None:
    server.breaks_after = [5 * CHUNK_BYTES, 3 * CHUNK_BYTES + 10]
    fetch(server.url, tmp_path / "a.zip", MD5, retries=2)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges == [f"bytes={n * CHUNK_BYTES}-" for n in (0, 5, 8)]
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert len(server.ranges) == 3, "what is there is not fetched again"


def test_a_later_run_takes_up_what_an_earlier_one_left(
    server: Server, tmp_path: Path
) -> None:
    server.breaks_after = [5 * CHUNK_BYTES, 0]
    with pytest.raises(FetchError):
        fetch(server.url, tmp_path / "a.zip", MD5, retries=1)
    assert not (tmp_path / "a.zip").exists()
    assert (tmp_path / "a.zip.part").stat().st_size == 5 * CHUNK_BYTES
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges[-1] == f"bytes={5 * CHUNK_BYTES}-"


def test_a_part_that_is_whole_already(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.zip.part").write_bytes(CONTENT)
    fetch(server.url, tmp_path / "a.zip", MD5, retries=1)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_starts_again(
    server: Server, tmp_path: Path
) -> None:
    server.resumes = False
    (tmp_path / "a.zip.part").write_bytes(b"something")
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_not_kept(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a.zip.part").write_bytes(b"another file")
    with pytest.raises(FetchError, match="does not match the known hash"):
        fetch(server.url, tmp_path / "a.zip", MD5)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.zip").write_bytes(b"another file")
    with pytest.raises(FetchError, match=r"a\.zip: its checksum is not md5.*remove"):
        fetch(server.url, tmp_path / "a.zip", MD5)
    assert (tmp_path / "a.zip").read_bytes() == b"another file"


def test_a_retry_replaces_a_wrong_part(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.zip.part").write_bytes(b"another file")
    fetch(server.url, tmp_path / "a.zip", MD5, retries=1)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT


def test_no_server_and_no_file(server: Server, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="404"):
        fetch(f"{server.url}x", tmp_path / "a.zip", MD5)
    with pytest.raises(FetchError, match="refused"):
        fetch("http://127.0.0.1:9/a.zip", tmp_path / "a.zip", MD5)


def test_threads_that_fetch_one_archive_do_the_work_once(
    server: Server, tmp_path: Path
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("top/a", CONTENT)
    server.content = packed.getvalue()
    md5 = hashlib.md5(server.content).hexdigest()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(fetch_and_unpack, server.url, tmp_path, "top", md5)
    assert (tmp_path / "top/a").read_bytes() == CONTENT
    assert len(server.ranges) == 1


def test_an_archive_is_unpacked_whole(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/s1/o1/a.png", b"x")
    unpack_zip(tmp_path / "a.zip", tmp_path, "top")
    assert (tmp_path / "top/s1/o1/a.png").read_bytes() == b"x"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.zip", "top"]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "top/../../b", "../b", "other/b", "top\\..\\b", "link"]
)
def test_a_member_that_would_land_elsewhere_is_refused(
    name: str, tmp_path: Path
) -> None:
    member = zipfile.ZipInfo("top/b" if name == "link" else name)
    if name == "link":
        member.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/a", b"x")
        archive.writestr(member, b"/etc")
    with pytest.raises(FetchError, match="is a link or is not in top"):
        unpack_zip(tmp_path / "a.zip", tmp_path, "top")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_a_damaged_archive_leaves_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/a", b"x" * 1000)
    whole = bytearray((tmp_path / "a.zip").read_bytes())
    whole[100] ^= 1
    (tmp_path / "a.zip").write_bytes(whole)
    with pytest.raises(FetchError, match="cannot be unpacked"):
        unpack_zip(tmp_path / "a.zip", tmp_path, "top")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]

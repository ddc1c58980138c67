"""Downloads from a server on this machine that breaks off halfway."""

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.benchmarks.fetching.download import DownloadError, fetch, unpack_zip

CONTENT = bytes(range(256)) * 4000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Gives ``CONTENT``, from where it is asked to, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.breaks_after: list[int] = []
        """After how many bytes to break off, one answer after the other."""
        self.resumes = True
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/core50.zip"


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        start = 0
        if asked is not None and self.server.resumes:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(CONTENT):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header(
                "Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
            )
        else:
            self.send_response(200 if self.path == "/core50.zip" else 404)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        body = CONTENT[start:]
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
    server.breaks_after = [300_000, 200_000]
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=300000-", "bytes=500000-"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert len(server.ranges) == 3, "what is there is not fetched again"


def test_a_later_run_takes_up_what_an_earlier_one_left(
    server: Server, tmp_path: Path
) -> None:
    server.breaks_after = [300_000, 0]
    with pytest.raises(DownloadError):
        fetch(server.url, tmp_path / "a.zip", MD5)
    assert not (tmp_path / "a.zip").exists()
    assert (tmp_path / "a.zip.part").stat().st_size == 300_000
    fetch(server.url, tmp_path / "a.zip", MD5)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    assert server.ranges[-1] == "bytes=300000-"


def test_a_part_that_is_whole_already(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.zip.part").write_bytes(CONTENT)
    fetch(server.url, tmp_path / "a.zip", MD5)
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
    with pytest.raises(DownloadError, match="checksum is wrong"):
        fetch(server.url, tmp_path / "a.zip", MD5)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.zip").write_bytes(b"another file")
    with pytest.raises(DownloadError, match=r"a\.zip: its checksum is wrong.*remove"):
        fetch(server.url, tmp_path / "a.zip", MD5)


def test_no_server_and_no_file(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="404"):
        fetch(f"{server.url}x", tmp_path / "a.zip", MD5)
    with pytest.raises(DownloadError, match="refused"):
        fetch("http://127.0.0.1:9/a.zip", tmp_path / "a.zip", MD5)


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
    with pytest.raises(DownloadError, match="no place below top"):
        unpack_zip(tmp_path / "a.zip", tmp_path, "top")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_a_damaged_archive_leaves_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/a", b"x" * 1000)
    whole = bytearray((tmp_path / "a.zip").read_bytes())
    whole[100] ^= 1
    (tmp_path / "a.zip").write_bytes(whole)
    with pytest.raises(DownloadError, match="cannot be unpacked"):
        unpack_zip(tmp_path / "a.zip", tmp_path, "top")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]

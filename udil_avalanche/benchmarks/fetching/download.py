"""Large files from the network, taken up again where they were broken off."""

import hashlib
import http.client
import os
import shutil
import sys
import urllib.error
import urllib.request
import zipfile
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

CHUNK_BYTES = 1 << 20
ATTEMPTS = 3
SYMLINK = 0o120000
FILE_TYPE = 0o170000


class DownloadError(RuntimeError):
    """A file could not be had, or is not what it should be."""


def fetch(url: str, target: Path, md5: str, *, timeout: float = 30.0) -> None:
    """Download a file, unless it is there already and right.

    What has come so far lies in ``<target>.part``; the next attempt, now or in another
    run, asks for the rest. The file gets its name when its checksum is right.

    :param url: where to get it.
    :param target: where to put it.
    :param md5: its checksum.
    :param timeout: seconds to wait for each piece of it.
    :raises DownloadError: if it does not come, or is another file.
    """
    if target.exists():
        if _md5(target) != md5:
            raise DownloadError(
                f"{target}: its checksum is wrong (MD5 should be {md5}); remove it"
            )
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    for attempt in range(1, ATTEMPTS + 1):
        before = _size(part)
        try:
            _fetch_rest(url, part, timeout)
            break
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{url}: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            stuck = _size(part) == before
            if attempt == ATTEMPTS or stuck:
                raise DownloadError(f"{url}: {error}") from error
    if _md5(part) != md5:
        part.unlink()
        raise DownloadError(f"{url}: its checksum is wrong (MD5 should be {md5})")
    os.replace(part, target)


def _fetch_rest(url: str, part: Path, timeout: float) -> None:
    have = _size(part)
    headers = {"User-Agent": "udil_avalanche"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        whole = error.headers.get("Content-Range", "")
        if error.code == 416 and whole == f"bytes */{have}":
            return
        if error.code == 416:
            part.unlink()
        raise
    with closing(response):
        goes_on = response.status == 206 and response.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {have}-")
        if not goes_on:
            have = 0
        rest = response.headers.get("Content-Length")
        total = None if rest is None else have + int(rest)
        with part.open("ab" if goes_on else "wb") as file:
            _copy(response, file, have, total, url.rpartition("/")[2])
    if total is not None and _size(part) < total:
        raise http.client.IncompleteRead(b"", total - _size(part))


def _copy(
    response: BinaryIO, file: BinaryIO, have: int, total: int | None, name: str
) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    shown = Progress(*columns, console=console, disable=not sys.stderr.isatty())
    with shown as progress:
        task = progress.add_task(name, total=total, completed=have)
        while chunk := response.read(CHUNK_BYTES):
            file.write(chunk)
            progress.advance(task, len(chunk))


def unpack_zip(archive: Path, folder: Path, top: str) -> None:
    """Unpack an archive: all of it appears in ``folder/<top>`` at once, or nothing.

    :param archive: the file.
    :param folder: where to unpack it.
    :param top: the folder that all its members must be in.
    :raises DownloadError: if it is damaged, or a member would land anywhere else or is
        a link.
    """
    scratch = folder / f".{top}.{os.getpid()}.part"
    try:
        with zipfile.ZipFile(archive) as members:
            for member in members.infolist():
                _refuse_outside(member, top, archive)
            members.extractall(scratch)
        os.replace(scratch / top, folder / top)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise DownloadError(f"{archive}: cannot be unpacked ({error})") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _refuse_outside(member: zipfile.ZipInfo, top: str, archive: Path) -> None:
    path = PurePosixPath(member.filename)
    is_link = member.external_attr >> 16 & FILE_TYPE == SYMLINK
    outside = path.is_absolute() or ".." in path.parts or "\\" in member.filename
    if outside or is_link or path.parts[:1] != (top,):
        raise DownloadError(
            f"{archive}: holds {member.filename}, which has no place below {top}"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


__all__ = ["DownloadError", "fetch", "unpack_zip"]

"""Downloads that can be resumed, and archives that are unpacked whole or not at all."""

import logging
import os
import stat
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pooch
from filelock import FileLock

CHUNK_BYTES = 1 << 16
"""Data are kept in pieces of this size; when a connection breaks, the last is lost."""

CONNECT_SECONDS = 3.05
"""How long to wait for each address of a host. A host may have several, so a firewall
that drops packets would otherwise keep us waiting for minutes."""

# pooch reports every download on the terminal.
pooch.get_logger().setLevel(logging.WARNING)


class FetchError(RuntimeError):
    """A file is not available, or is not the file it should be."""


def fetch(
    url: str,
    target: Path,
    known_hash: str | None = None,
    *,
    retries: int = 0,
    timeout: float = 10.0,
) -> None:
    """Download a file, unless it is there already.

    The part that has arrived is kept in ``<target>.part``. The next attempt, in this
    run or a later one, asks only for the rest. The file gets its name when it is
    complete and its checksum is right.

    :param url: the address of the file.
    :param target: where to put it.
    :param known_hash: its checksum, such as ``md5:745f...``; not checked if ``None``.
    :param retries: how often to try again after a failure.
    :param timeout: seconds to wait for an answer, and for each further piece of it.
    :raises FetchError: if the download fails or the checksum is wrong.
    """
    if target.exists() and not pooch.hashes.hash_matches(str(target), known_hash):
        raise FetchError(f"{target}: its checksum is not {known_hash}; remove the file")
    part = target.with_name(f"{target.name}.part")

    def download_rest(url: str, output: str, _: object) -> None:
        with part.open("ab") as file:

            def restart_unless_resumed(response: Any, **_: object) -> None:
                # 200: the server sends the whole file. 416: there is no such rest.
                if response.status_code in (200, 416):
                    file.truncate(0)

            downloader = pooch.HTTPDownloader(
                progressbar=sys.stderr.isatty(),
                chunk_size=CHUNK_BYTES,
                timeout=(CONNECT_SECONDS, timeout),
                headers={
                    "Range": f"bytes={file.tell()}-",
                    "Accept-Encoding": "identity",
                },
                hooks={"response": restart_unless_resumed},
            )
            downloader(url, file, None)
        os.replace(part, output)

    files = pooch.create(
        path=target.parent,
        base_url="",
        registry={target.name: known_hash},
        urls={target.name: url},
        retry_if_failed=retries,
    )
    try:
        files.fetch(target.name, downloader=download_rest)
    except (OSError, ValueError) as error:
        # If there is no connection, the reason is wrapped in an error about retries.
        reason = getattr(next(iter(error.args), None), "reason", error)
        raise FetchError(f"{url}: {reason}") from error


def fetch_and_unpack(url: str, folder: Path, name: str, md5: str) -> None:
    """Download ``<name>.zip`` into a folder and unpack it to ``folder/<name>``.

    If several processes do so at once, one does the work and the others wait.

    :param url: the address of the archive.
    :param folder: where to put it; made if missing.
    :param name: the folder that all members of the archive are in.
    :param md5: checksum of the archive.
    :raises FetchError: if it cannot be downloaded or unpacked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        if not (folder / name).exists():
            archive = folder / f"{name}.zip"
            fetch(url, archive, f"md5:{md5}", retries=2)
            unpack_zip(archive, folder, name)


def unpack_zip(archive: Path, folder: Path, top: str) -> None:
    """Unpack an archive: all of it appears in ``folder/<top>`` at once, or nothing.

    :param archive: the file.
    :param folder: where to unpack it.
    :param top: the folder that all its members must be in.
    :raises FetchError: if the archive is damaged, or if a member is a link or would
        land elsewhere.
    """
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder) as scratch,
            zipfile.ZipFile(archive) as members,
        ):
            for member in members.infolist():
                is_link = stat.S_ISLNK(member.external_attr >> 16)
                is_below = PurePosixPath(member.filename).parts[:1] == (top,)
                if is_link or not is_below or leads_outside(member.filename):
                    raise FetchError(
                        f"{archive}: its member {member.filename} is a link or "
                        f"is not in {top}"
                    )
            members.extractall(scratch)
            os.replace(Path(scratch, top), folder / top)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise FetchError(f"{archive}: cannot be unpacked ({error})") from error


def leads_outside(member: str) -> bool:
    """Whether a member of an archive could land outside the folder that it is unpacked
    to.

    :param member: its name in the archive.
    """
    path = PurePosixPath(member)
    return path.is_absolute() or ".." in path.parts or "\\" in member

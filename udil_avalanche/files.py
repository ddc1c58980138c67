"""Files and folders that are either complete or missing."""

import errno
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: Path, *, flush: bool = True) -> Iterator[Path]:
    """Write a file so that after a failure it is what it was before.

    A link stays, and what it points to is written.

    :param path: the file.
    :param flush: wait until the disk has it, so that it survives a power cut. That
        takes longer than writing; what the same command can make again may do without.
    :return: a temporary name to write to; it is renamed when the block ends.
    :raises OSError: if there is something else than a regular file, such as a device,
        which would be replaced by a file.
    """
    path = _without_links(path)
    if path.exists() and not path.is_file():
        number = errno.EISDIR if path.is_dir() else errno.EINVAL
        reason = "is a folder" if path.is_dir() else "is not a regular file"
        raise OSError(number, reason, str(path))
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield unfinished
        if path.exists():
            shutil.copymode(path, unfinished)
        if flush:
            _flush_file(unfinished)
        os.replace(unfinished, path)
        if flush:
            _flush_names(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _without_links(path: Path) -> Path:
    if not path.is_symlink():
        return path
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, "is a link to itself", str(path)) from error


def is_standard_output(path: Path) -> bool:
    """Whether a name means the standard output, such as ``/dev/stdout``. If that is a
    file, it has other things in it, and is not to be replaced.

    :param path: the name.
    """
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def read_regular(path: Path) -> bytes:
    """The content of a file. Opening a pipe would wait for somebody to write to it.

    :param path: the file.
    :raises OSError: if it cannot be read, or is not a regular file.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return path.read_bytes()


def write_text(path: Path, text: str) -> None:
    """Write a text file by :func:`atomic_write`.

    :param path: the file.
    :param text: its content.
    """
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def append_text(path: Path, text: str) -> None:
    """Append to a text file, and flush it to the disk. After a kill the file may end
    with a part of the text.

    :param path: the file; it is made if it is missing.
    :param text: what to append.
    """
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def remove_unfinished(folder: Path) -> None:
    """Remove what a process that was killed in :func:`atomic_write` has left.

    :param folder: where to look. Nobody may be writing there.
    """
    for leftover in folder.glob(".*.tmp"):
        if re.fullmatch(r"\..+\.[0-9a-f]{32}\.tmp", leftover.name):
            leftover.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder of files so that after a failure it is not there.

    :param path: the folder, which must not exist yet.
    :return: an empty folder with a temporary name to write to; it is renamed when the
        block ends.
    """
    unfinished = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        for file in unfinished.iterdir():
            _flush_file(file)
        _flush_names(unfinished)
        os.rename(unfinished, path)
        _flush_names(path.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _flush_file(file: Path) -> None:
    with file.open("rb+") as written:
        os.fsync(written.fileno())


def _flush_names(folder: Path) -> None:
    """Make sure that the names in a folder have reached the disk."""
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows cannot open a folder.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

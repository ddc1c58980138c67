"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Write a file so that it is there whole or, after a failure, as it was before.

    :param path: the file.
    :return: the name under which to write it; it gets its own when the block ends.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        with unfinished.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(unfinished, path)
        flush_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Let the names in a folder reach the disk.

    :param folder: where something was renamed.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["atomic_write", "flush_folder"]

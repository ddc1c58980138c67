"""One process at a time in a run folder."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from udil_avalanche.errors import RunLocked

NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if it is missing.

    The lock is the operating system's, on a file that stays behind; it goes with the
    process that holds it, however that may end.

    :param folder: the folder.
    :raises RunLocked: if another process is at work in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / NAME).open("a+", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = " ".join(file.read(200).split()) or "another process"
            raise RunLocked(
                f"{holder} is at work in {folder}: wait until it is done, or stop it"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}\n")
        file.flush()
        yield


__all__ = ["NAME", "locked"]

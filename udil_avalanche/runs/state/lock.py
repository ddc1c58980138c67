"""One process at a time in a run folder."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from udil_avalanche.errors import RunLocked
from udil_avalanche.runs.run_folder import LOCK_FILE

_descriptors: list[int] = []
"""The open lock files of this process."""


def _do_not_inherit() -> None:
    """In a copy of the process: let go of the lock files. They become the null device,
    since whoever opened them will close them by their number."""
    while _descriptors:
        descriptor = _descriptors.pop()
        nothing = os.open(os.devnull, os.O_RDWR)
        # The same number: filelock has closed the file in this copy already.
        if nothing != descriptor:
            os.dup2(nothing, descriptor, inheritable=False)
            os.close(nothing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_do_not_inherit)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if it is missing.

    The lock is the operating system's, on a file that stays behind. It is released
    when the process ends, however it ends: processes that it has started, such as those
    that decode images, do not inherit it.

    :param folder: the folder.
    :raises RunLocked: if another process is using it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / LOCK_FILE
    lock = FileLock(file, blocking=False, preserve_lock_file=True, on_acquired=_sign)
    others = len(_descriptors)
    try:
        held = lock.acquire()
    except Timeout:
        raise RunLocked(
            f"{_holder(file)} is using {folder}: wait until it is done, or stop it"
        ) from None
    with held:
        try:
            yield
        finally:
            del _descriptors[others:]


def _sign(descriptor: int) -> None:
    """Write who holds the lock. The first byte stays empty: Windows locks it, and then
    no other process can read it."""
    _descriptors.append(descriptor)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f" process {os.getpid()} on {platform.node()}\n".encode())


def _holder(file: Path) -> str:
    with file.open("rb", buffering=0) as content:
        content.seek(1)
        signature = content.read(200).decode(errors="replace")
    return " ".join(signature.split()) or "another process"

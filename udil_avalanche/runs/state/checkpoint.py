"""States on disk: whole or not there, and known to be what was written."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError

from udil_avalanche.errors import RunError
from udil_avalanche.files import flush_folder
from udil_avalanche.runs.state.tree import join, split

logger = logging.getLogger(__name__)

FORMAT = 1
"""The version of what a state looks like; one with any other is refused."""

TENSORS, PLAIN = "tensors.safetensors", "state.json"

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class DamagedState(ValueError):
    """A state that is not what was written."""


class StateFolder:
    """Keeps the last two states of a run, each in a folder of its own.

    A state is two files: its tensors as safetensors, and the rest as JSON, with the
    version of the format, the SHA-256 of the tensors and its own. It is written under
    another name, flushed to the disk and renamed, and only then the older of the two
    before it is removed: whatever happens in between, one is whole. A state that has
    been damaged since is named and left aside for the one before it.

    One process at a time may write; the lock on the run folder sees to that.

    :param path: where the states lie; need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._good: str | None = None

    def write(self, state: Mapping[str, Any]) -> None:
        """Write a state, and let go of all but this one and the last good one.

        :param state: nested dictionaries and lists of tensors and plain values.
        :raises RunError: if it cannot be written; the one before is then untouched.
        """
        name = f"{max(map(int, self._names()), default=0) + 1:06d}"
        unfinished = self.path / f".{name}.tmp"
        try:
            self.path.mkdir(exist_ok=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            self._write_files(unfinished, state)
            os.rename(unfinished, self.path / name)
            flush_folder(self.path)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            reason = getattr(error, "strerror", None) or error
            kept = "The one before is kept" if self._good else "There is none before it"
            raise RunError(
                f"the state cannot be saved in {self.path}: {reason}\n"
                f"{kept}; start the same command again when this is mended"
            ) from error
        for other in self._names():
            if other not in (name, self._good):
                shutil.rmtree(self.path / other, ignore_errors=True)
        self._good = name

    def read(self) -> dict[str, Any] | None:
        """The newest state that is what was written.

        :return: ``None`` if no state was ever written.
        :raises RunError: if there are states but none can be used.
        """
        complaints = []
        for leftover in self.path.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        for name in sorted(self._names(), key=int, reverse=True):
            try:
                state = _read(self.path / name)
            except DamagedState as damage:
                complaints.append(str(damage))
                continue
            for complaint in complaints:
                logger.warning("%s: going on from the state before it", complaint)
            self._good = name
            return state
        if complaints:
            raise RunError(
                f"no state is left to go on from: {'; '.join(complaints)}\n"
                f"To start anew, remove {self.path.parent}"
            )
        return None

    @property
    def size(self) -> int:
        """Bytes of the last good state on disk."""
        if self._good is None:
            return 0
        files = (self.path / self._good).iterdir()
        return sum(file.stat().st_size for file in files)

    def remove(self) -> None:
        """Let go of all states."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._good = None

    def _names(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return [each.name for each in self.path.iterdir() if each.name.isdecimal()]

    def _write_files(self, folder: Path, state: Mapping[str, Any]) -> None:
        plain, tensors = split(state)
        safetensors.torch.save_file(tensors, folder / TENSORS)
        with (folder / TENSORS).open("rb+") as file:
            tensors_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        content = {"format": FORMAT, "tensors_sha256": tensors_sha256, "state": plain}
        with (folder / PLAIN).open("w") as file:
            file.write(json.dumps({"sha256": _sha256(content), **content}))
            file.flush()
            os.fsync(file.fileno())
        flush_folder(folder)


def _read(folder: Path) -> dict[str, Any]:
    plain, tensors = folder / PLAIN, folder / TENSORS
    try:
        content = json.loads(plain.read_bytes())
        intact = content.pop("sha256") == _sha256(content)
    except (OSError, *_MALFORMED) as error:
        raise DamagedState(f"{plain} cannot be read") from error
    if not intact:
        raise DamagedState(f"{plain} was altered")
    if content["format"] != FORMAT:
        raise RunError(
            f"the state in {folder} has format {content['format']}, but this version "
            f"of udil_avalanche reads format {FORMAT}\nGo on with the version that "
            f"wrote it, or remove {folder.parent.parent} to start anew"
        )
    try:
        with tensors.open("rb") as file:
            tensors_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DamagedState(f"{tensors}: {error.strerror}") from error
    if tensors_sha256 != content["tensors_sha256"]:
        raise DamagedState(f"{tensors} was altered")
    try:
        stored = safetensors.torch.load_file(tensors)
        # Copies, since arithmetic may round otherwise where numbers lie unaligned.
        copies = {name: tensor.clone() for name, tensor in stored.items()}
        state: dict[str, Any] = join(content["state"], copies)
    except (SafetensorError, OSError, *_MALFORMED) as error:
        raise DamagedState(f"{folder} does not hold a state") from error
    return state


def _sha256(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


__all__ = ["FORMAT", "StateFolder"]

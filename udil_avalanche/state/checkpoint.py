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
from udil_avalanche.state.tree import join, split
from udil_avalanche.whole_file import flush_folder

logger = logging.getLogger(__name__)

FORMAT = 1
"""The version of what a state looks like; one with any other is refused."""

TENSORS, PLAIN, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class DamagedState(ValueError):
    """A state that is not what was written."""


class StateFolder:
    """Keeps the last two states of a run, each in a folder of its own.

    A state is three files: its tensors as safetensors, the rest as JSON, and a manifest
    with the format's version and the SHA-256 of the two and of itself. It is written
    under another name, flushed to the disk and renamed, and only then the older of the
    two before it is removed: whatever happens in between, one is whole. A state that
    has been damaged since is named and left aside for the one before it.

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
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            kept = "the one before is kept" if self._good else "there is none before it"
            raise RunError(
                f"the state cannot be saved in {self.path}: {error.strerror}\n"
                f"{kept.capitalize()}; start the same command again when this is mended"
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
        contents = {
            TENSORS: safetensors.torch.save(tensors),
            PLAIN: json.dumps(plain).encode(),
        }
        manifest = {
            "format": FORMAT,
            "sha256": {name: _sha256(content) for name, content in contents.items()},
        }
        contents[MANIFEST] = json.dumps(
            manifest | {"manifest_sha256": _manifest_sha256(manifest)}, indent=2
        ).encode()
        for name, content in contents.items():
            with (folder / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        flush_folder(folder)


def _read(folder: Path) -> dict[str, Any]:
    expected = _expected_sha256(folder)
    contents = {}
    for name in (TENSORS, PLAIN):
        try:
            contents[name] = (folder / name).read_bytes()
        except OSError as error:
            raise DamagedState(f"{folder / name}: {error.strerror}") from error
        if _sha256(contents[name]) != expected[name]:
            raise DamagedState(f"{folder / name} was altered")
    try:
        stored = safetensors.torch.load(contents[TENSORS])
        # Copies, since arithmetic may round otherwise where numbers lie unaligned.
        tensors = {name: tensor.clone() for name, tensor in stored.items()}
        state: dict[str, Any] = join(json.loads(contents[PLAIN]), tensors)
    except (SafetensorError, *_MALFORMED) as error:
        raise DamagedState(f"{folder} does not hold a state") from error
    return state


def _expected_sha256(folder: Path) -> dict[str, str]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        written = manifest.pop("manifest_sha256")
        intact = _manifest_sha256(manifest) == written
        version, expected = manifest["format"], manifest["sha256"]
    except (OSError, *_MALFORMED) as error:
        raise DamagedState(f"{folder / MANIFEST} cannot be read") from error
    if not intact:
        raise DamagedState(f"{folder / MANIFEST} was altered")
    if version != FORMAT:
        raise RunError(
            f"the state in {folder} has format {version}, but this version of "
            f"udil_avalanche reads format {FORMAT}\nGo on with the version that wrote "
            f"it, or remove {folder.parent.parent} to start anew"
        )
    return {name: expected.get(name, "") for name in (TENSORS, PLAIN)}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _manifest_sha256(manifest: Mapping[str, Any]) -> str:
    return _sha256(json.dumps(manifest, sort_keys=True).encode())


__all__ = ["FORMAT", "StateFolder"]

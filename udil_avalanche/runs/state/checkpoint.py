"""States on disk, each either complete or missing, and with a checksum."""

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError

from udil_avalanche.errors import RunError
from udil_avalanche.files import atomic_folder, read_regular
from udil_avalanche.runs.state.tree import join, split

logger = logging.getLogger(__name__)

FORMAT = 1
"""The version of the format of a state; states of other versions are refused."""

TENSORS, PLAIN = "tensors.safetensors", "state.json"


class DamagedState(ValueError):
    """A state has changed since it was written."""


class StateFolder:
    """Keeps the last two states of a run, each in its own folder.

    A state is two files: its tensors as safetensors, and the rest as JSON, with the
    version of the format, the SHA-256 of the tensors and its own. The older of two
    states is removed only when the next one is safe on the disk, so one is always
    complete. A state that has been damaged since is reported, and the one before it
    used.

    Only one process at a time may write; the lock on the run folder takes care of that.

    :param path: the folder with the states; need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._good: str | None = None

    def write(self, state: Mapping[str, Any]) -> None:
        """Write a state, and remove all others except the last good one.

        :param state: nested dictionaries and lists of tensors and plain values.
        :raises RunError: if it cannot be written; the one before is then untouched.
        """
        name = f"{max(map(int, self._names()), default=0) + 1:06d}"
        try:
            with atomic_folder(self.path / name) as folder:
                _write_files(folder, state)
        except (OSError, SafetensorError) as error:
            reason = getattr(error, "strerror", None) or error
            kept = "The one before is kept" if self._good else "There is none before it"
            raise RunError(
                f"the state cannot be saved in {self.path}: {reason}\n"
                f"{kept}; when this is fixed, start the same command again"
            ) from error
        for other in self._names():
            if other not in (name, self._good):
                shutil.rmtree(self.path / other, ignore_errors=True)
        self._good = name

    def read(self) -> dict[str, Any] | None:
        """The newest state that is not damaged.

        :return: ``None`` if no state was ever written.
        :raises RunError: if there are states but none can be used.
        """
        for leftover in self.path.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        damages = []
        for name in sorted(self._names(), key=int, reverse=True):
            try:
                state = _read_files(self.path / name)
            except DamagedState as damage:
                damages.append(str(damage))
                continue
            for reason in damages:
                logger.warning("%s: resuming from the state before it", reason)
            self._good = name
            return state
        if damages:
            raise RunError(
                f"no state is left to resume from: {'; '.join(damages)}\n"
                f"To start again, remove {self.path.parent}"
            )
        return None

    @property
    def size(self) -> int:
        """Bytes of the last good state on disk."""
        if self._good is None:
            return 0
        files = (self.path / self._good).iterdir()
        return sum(file.stat().st_size for file in files)

    def _names(self) -> list[str]:
        return [each.name for each in self.path.glob("*") if each.name.isdecimal()]


def _write_files(folder: Path, state: Mapping[str, Any]) -> None:
    plain, tensors = split(state)
    safetensors.torch.save_file(tensors, folder / TENSORS)
    tensors_sha256 = _sha256_of_file(folder / TENSORS)
    content = {"format": FORMAT, "tensors_sha256": tensors_sha256, "state": plain}
    text = json.dumps({"sha256": _sha256(content), **content})
    (folder / PLAIN).write_text(text)


def _read_files(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(folder / PLAIN))
        if content.pop("sha256") != _sha256(content):
            raise ValueError(f"{PLAIN} was altered")
        if content["format"] != FORMAT:
            raise RunError(
                f"the state in {folder} has format {content['format']}, but this "
                f"version of udil_avalanche reads format {FORMAT}\nResume with the "
                f"version that wrote it, or remove {folder.parent.parent} to start "
                "again"
            )
        if not (folder / TENSORS).is_file():
            raise ValueError(f"{TENSORS} is not a regular file")
        if content["tensors_sha256"] != _sha256_of_file(folder / TENSORS):
            raise ValueError(f"{TENSORS} was altered")
        stored = safetensors.torch.load_file(folder / TENSORS)
        # Copies, since arithmetic may round differently on numbers that are unaligned.
        copies = {name: tensor.clone() for name, tensor in stored.items()}
        return dict(join(content["state"], copies))
    except RunError:
        raise
    except Exception as error:  # Damaged files may raise any error.
        reason = " ".join(str(error).split())
        raise DamagedState(f"{folder} does not hold a state ({reason})") from error


def _sha256(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

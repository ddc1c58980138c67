"""A model on disk: its versions, and which of them is in use.

::

    MODEL/current                         the number of the version in use
    MODEL/versions/000002/                one version: plain values, small tensors, and
                                          the digests of its large ones
    MODEL/tensors/<digest>.safetensors    every large tensor once, and the weights of a
                                          frozen backbone, named by their SHA-256
    MODEL/update/                         an update under way, to be resumed from

A large tensor that two versions share is stored once. A version is written beside the
others and is complete as soon as its folder has its name; ``current`` is moved last. So
the model can be used at any time, whatever happens to an update. Nothing is pickled.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from udil_avalanche.errors import ModelError
from udil_avalanche.files import atomic_folder, atomic_write, write_text
from udil_avalanche.learner.version import Reserve, Version, VersionRecord
from udil_avalanche.runs.state.tree import join, split

FORMAT = 1
"""The version of the format; others are refused."""

RECORD, STATE, SMALL = "version.json", "state.json", "small.safetensors"

PLAN = "plan.json"
"""What an update under way learns, and from which version."""

LARGE = 2**14
"""Bytes from which a tensor has a file of its own. Each file costs some milliseconds
until it is safe on the disk."""

BACKBONE = "backbone"
"""The entry of a version's record with the digest of its backbone."""

_TENSOR = "tensor"

Tensors = dict[str, Tensor]


class ModelFolder:
    """The folder of a model.

    :param path: the folder; it need not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.versions = self.path / "versions"
        self.tensors = self.path / "tensors"
        self.under_way = self.path / "update"
        """Where an update keeps what it needs to be resumed."""

    @property
    def exists(self) -> bool:
        """Whether there is a model that can be used."""
        return self._current.is_file()

    @property
    def _current(self) -> Path:
        return self.path / "current"

    def require(self) -> None:
        """Refuse a folder without a model.

        :raises ModelError: says how to make one.
        """
        if self.exists:
            return
        if self.under_way.exists():
            raise ModelError(
                f"{self.path} has no version yet: learning its first domain was "
                "interrupted; start the same learn command again"
            )
        raise ModelError(
            f"{self.path} is not a model: make one by udil-run learn {self.path} "
            "--data DATA"
        )

    @property
    def current(self) -> int:
        """The number of the version in use.

        :raises ModelError: if there is no model, or its file is damaged.
        """
        self.require()
        text = self._current.read_bytes().decode(errors="replace").strip()
        if text not in map(str, self.numbers):
            raise ModelError(
                f"{self._current} does not hold the number of a version: write one of "
                f"{', '.join(map(str, self.numbers))} into it"
            )
        return int(text)

    @property
    def numbers(self) -> list[int]:
        """The numbers of all versions, those set aside included."""
        found = self.versions.glob("[0-9]*")
        return sorted(int(each.name) for each in found if _is_number(each.name))

    def make_current(self, number: int) -> None:
        """Use a version from now on.

        :param number: its number.
        """
        self._require_version(number)
        write_text(self._current, f"{number}\n")

    def record(self, number: int | None = None) -> VersionRecord:
        """What there is to know about a version.

        :param number: its number; the current one by default.
        :raises ModelError: if there is none, or its files are damaged.
        """
        return VersionRecord.from_dict(self._read(number, RECORD)["record"])

    def records(self) -> list[VersionRecord]:
        """All versions, the oldest first."""
        return [self.record(number) for number in self.numbers]

    def weights(self, number: int | None = None) -> Tensors:
        """The weights of the model that predicts.

        :param number: the version; the current one by default.
        """
        return self._tensors(number, self._read(number, RECORD)["weights"])

    def backbone(self, number: int | None = None) -> Tensors:
        """The weights of the frozen backbone; none if the model has no such thing.

        :param number: the version; the current one by default.
        """
        digest = self._read(number, RECORD).get(BACKBONE)
        if digest is None:
            return {}
        content = self._large(digest)
        if hashlib.sha256(content).hexdigest() != digest:
            raise self._damaged(self._file(digest))
        return safetensors.torch.load(content)

    def reserves(self, number: int | None = None) -> dict[str, Reserve]:
        """The reserve of every domain that has one.

        :param number: the version; the current one by default.
        """
        stored = self._read(number, RECORD)["reserves"]
        return {
            name: Reserve(**self._tensors(number, digests))
            for name, digests in stored.items()
        }

    def version(self, number: int | None = None) -> Version:
        """A whole version.

        :param number: its number; the current one by default.
        """
        stored = self._read(number, STATE)
        tree = join(stored["tree"], self._tensors(number, stored["tensors"]))
        return Version(
            record=self.record(number),
            weights=self.weights(number),
            state=tree["state"],
            generators=tree["generators"],
            reserves=self.reserves(number),
            backbone=self.backbone(number),
        )

    def write(self, version: Version) -> None:
        """Add a version, or replace it. ``current`` stays as it is.

        :param version: the version, with its number.
        """
        small: Tensors = {}
        tree, tensors = split(
            {"state": version.state, "generators": version.generators}
        )
        state = {"tree": tree, "tensors": self._store(tensors, small)}
        record: dict[str, Any] = {
            "record": version.record.as_dict(),
            "weights": self._store(version.weights, small),
            "reserves": {
                name: self._store(vars(reserve), small)
                for name, reserve in version.reserves.items()
            },
        }
        if version.backbone:
            # In one file: it never changes, and has hundreds of small tensors.
            content = safetensors.torch.save(version.backbone)
            record[BACKBONE] = self._write_once(content)
        files = {
            SMALL: safetensors.torch.save(small),
            STATE: _sealed(state),
            RECORD: _sealed(record),
        }
        folder = self._folder(version.record.number)
        if folder.exists():
            for name, content in files.items():
                with atomic_write(folder / name) as unfinished:
                    unfinished.write_bytes(content)
            return
        with atomic_folder(folder) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)

    def drop_update(self) -> None:
        """Drop an update that was interrupted, if there is one."""
        # The plan goes first: states without a plan are never resumed.
        (self.under_way / PLAN).unlink(missing_ok=True)
        shutil.rmtree(self.under_way, ignore_errors=True)

    def remove_unused_tensors(self) -> int:
        """Remove the tensors that no version has any more.

        :return: how many there were.
        """
        used = set()
        for number in self.numbers:
            record, state = self._read(number, RECORD), self._read(number, STATE)
            used |= {*record["weights"].values(), *state["tensors"].values()}
            used.add(record.get(BACKBONE))
            for reserve in record["reserves"].values():
                used |= set(reserve.values())
        unused = [file for file in self.tensors.glob("*") if file.stem not in used]
        for file in unused:
            file.unlink()
        return len(unused)

    def size(self) -> int:
        """Bytes of all files of the model."""
        return sum(file.stat().st_size for file in self._files())

    def _files(self) -> Iterable[Path]:
        return (file for file in self.path.rglob("*") if file.is_file())

    def _folder(self, number: int) -> Path:
        return self.versions / f"{number:06d}"

    def _require_version(self, number: int) -> None:
        if number not in self.numbers:
            raise ModelError(
                f"{self.path} has no version {number}: it has "
                f"{', '.join(map(str, self.numbers)) or 'none'}"
            )

    def _read(self, number: int | None, name: str) -> dict[str, Any]:
        number = self.current if number is None else number
        self._require_version(number)
        file = self._folder(number) / name
        try:
            content: dict[str, Any] = json.loads(file.read_bytes())
            if content.pop("sha256") != _digest_of(content):
                raise ValueError("altered")
            version_of_format = content.pop("format")
        except (OSError, ValueError, KeyError, AttributeError, RecursionError):
            raise self._damaged(file) from None
        if version_of_format != FORMAT:
            raise ModelError(
                f"{file} has format {version_of_format}, but this version of "
                f"udil_avalanche reads format {FORMAT}"
            )
        return content

    def _store(self, tensors: Mapping[str, Tensor], small: Tensors) -> dict[str, str]:
        """Write the large tensors that are not stored yet.

        :param tensors: the tensors by name.
        :param small: where to put the small ones, by their digests.
        :return: the digest of each tensor by its name.
        """
        self.tensors.mkdir(parents=True, exist_ok=True)
        digests = {}
        for name, tensor in tensors.items():
            stored = tensor.detach().cpu().contiguous()
            content = safetensors.torch.save({_TENSOR: stored})
            if stored.nbytes < LARGE:
                digests[name] = hashlib.sha256(content).hexdigest()
                small[digests[name]] = stored.clone()
            else:
                digests[name] = self._write_once(content)
        return digests

    def _write_once(self, content: bytes) -> str:
        """Write a file that is named by its digest, unless it is there already."""
        digest = hashlib.sha256(content).hexdigest()
        if not self._file(digest).exists():
            with atomic_write(self._file(digest)) as unfinished:
                unfinished.write_bytes(content)
        return digest

    def _tensors(self, number: int | None, digests: Mapping[str, str]) -> Tensors:
        """The tensors with these digests, by the same names."""
        number = self.current if number is None else number
        file = self._folder(number) / SMALL
        try:
            small = safetensors.torch.load(file.read_bytes())
        except (OSError, SafetensorError):
            raise self._damaged(file) from None
        found = {}
        for name, digest in digests.items():
            content = (
                safetensors.torch.save({_TENSOR: small[digest]})
                if digest in small
                else self._large(digest)
            )
            if hashlib.sha256(content).hexdigest() != digest:
                raise self._damaged(file if digest in small else self._file(digest))
            # A copy: arithmetic may round differently on numbers that are unaligned.
            found[name] = safetensors.torch.load(content)[_TENSOR].clone()
        return found

    def _large(self, digest: str) -> bytes:
        try:
            return self._file(digest).read_bytes()
        except OSError:
            raise self._damaged(self._file(digest)) from None

    def _file(self, digest: str) -> Path:
        return self.tensors / f"{digest}.safetensors"

    def _damaged(self, file: Path) -> ModelError:
        return ModelError(
            f"{file} is missing or damaged: restore it, or go back to a whole version "
            f"by udil-run rollback {self.path} NUMBER"
        )


def _sealed(content: Mapping[str, Any]) -> bytes:
    whole = {"format": FORMAT, **content}
    return json.dumps({"sha256": _digest_of(whole), **whole}, indent=1).encode()


def _digest_of(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _is_number(name: str) -> bool:
    return re.fullmatch("[0-9]{1,18}", name) is not None

"""Features on disk, by what they were computed from."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from udil_avalanche.files import atomic_write
from udil_avalanche.models.backbones import Backbone

NAMED_BY = 16
"""Digits of a backbone's digest in the name of its folder."""


class _Place(NamedTuple):
    file: Path
    row: int


class FeatureStore:
    """Features of images by the SHA-256 of the image file, for one backbone.

    The folder of a backbone is named after it, its image size and its digest. So other
    weights, another size or another image never meet the wrong features, and an image
    that was moved, renamed or copied keeps its own. Each file in it holds the features
    of some images and is complete or missing.

    :class:`~udil_avalanche.FrozenFeatures` looks features up in it and adds what is
    missing.

    :param cache: folder for the features of all backbones.
    :param backbone: what the features are computed by.
    """

    def __init__(self, cache: str | Path, backbone: Backbone) -> None:
        digest = backbone.digest()
        size = backbone.image_size
        name = f"{backbone.name.replace('/', '-')}-{size}-{digest[:NAMED_BY]}"
        self.folder = Path(cache, name)
        self.width = backbone.width
        self._places: dict[str, _Place] = {}
        self._files: set[Path] = set()
        self.refresh()

    def __contains__(self, digest: str) -> bool:
        return digest in self._places

    def refresh(self) -> None:
        """Look for what other processes have added. Damaged files are removed."""
        for file in set(self.folder.glob("*.safetensors")) - self._files:
            try:
                with safe_open(file, framework="pt") as stored:
                    digests = stored.get_tensor("digests").numpy()
                    shape = stored.get_slice("features").get_shape()
                if shape != [len(digests), self.width]:
                    raise ValueError("the features have another shape")
            except (OSError, ValueError, SafetensorError):
                file.unlink(missing_ok=True)
                continue
            self._files.add(file)
            for row, digest in enumerate(digests):
                self._places[digest.tobytes().hex()] = _Place(file, row)

    def lock(self) -> FileLock:
        """To be held while features are computed, so that two processes do not compute
        the same ones."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / ".lock")

    def add(self, digests: Sequence[str], features: Tensor) -> None:
        """Keep features.

        :param digests: the SHA-256 of each image file.
        :param features: a row for each.
        """
        if not digests:
            return
        packed = b"".join(bytes.fromhex(digest) for digest in digests)
        table = torch.frombuffer(bytearray(packed), dtype=torch.uint8)
        content = {"digests": table.view(len(digests), -1), "features": features}
        file = self.folder / f"{hashlib.sha256(packed).hexdigest()[:16]}.safetensors"
        with atomic_write(file) as unfinished:
            unfinished.write_bytes(save(content))
        self.refresh()

    def rows(self, digests: Sequence[str]) -> Tensor:
        """The features of images, N x width.

        :param digests: the SHA-256 of each image file; all must be known.
        """
        features = torch.empty(len(digests), self.width)
        places = [self._places[digest] for digest in digests]
        for file in {place.file for place in places}:
            wanted = [k for k, place in enumerate(places) if place.file == file]
            with safe_open(file, framework="pt") as stored:
                kept = stored.get_tensor("features")
            features[wanted] = kept[[places[k].row for k in wanted]]
        return features


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file.

    :param path: the file.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Domains of image files as domains of features."""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from torch import Tensor

from udil_avalanche.benchmarks.features.embedding import cores, embedded
from udil_avalanche.benchmarks.features.store import FeatureStore, file_digest
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.models.backbones import Backbone

KEPT_EVERY = 512
"""Images after which the features so far are kept, in case of an interruption."""

SHOWN_FROM = 200
"""Fewer images than these have no progress bar."""


class FrozenFeatures:
    """The features of image files by a backbone that does not change, each computed
    once and kept in a cache.

    Domains of features instead of images::

        features = FrozenFeatures(make_backbone("efficientnet_lite0"), "data/features")
        benchmark = folders("photos", features=features)

    :param backbone: maps images to features.
    :param cache: folder to keep them in.
    :param device: where the backbone runs.
    """

    def __init__(
        self,
        backbone: Backbone,
        cache: str | Path,
        *,
        device: str | torch.device = "cpu",
    ) -> None:
        self.backbone = backbone
        self.device = device
        self.store = FeatureStore(cache, backbone)
        self._digests: dict[str, str] = {}

    def compute(self, files: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Compute the features that the cache does not have.

        :param files: image files.
        :return: the damaged files, and what is wrong with each.
        """
        with ThreadPoolExecutor(max_workers=cores()) as pool:
            digests = list(pool.map(file_digest, files))
        self._digests.update(zip(files, digests, strict=True))
        faults = {}
        if any(digest not in self.store for digest in digests):
            with self.store.lock():
                self.store.refresh()
                missing = {
                    digest: file
                    for file, digest in zip(files, digests, strict=True)
                    if digest not in self.store
                }
                faults = self._compute(list(missing.values()))
        for file, digest in zip(files, digests, strict=True):
            if digest in faults:
                yield file, faults[digest]

    def take(
        self, files: Sequence[str], positions: Tensor, labels: Tensor, slot: LastUsed
    ) -> DomainTensors:
        """A domain of features.

        :param files: image files that :meth:`compute` has seen.
        :param positions: which of them.
        :param labels: the class of each.
        :param slot: caches the features.
        """
        digests = [self._digests[files[k]] for k in positions.tolist()]
        return DomainTensors(
            partial(self.store.rows, digests),
            labels,
            slot,
            make_some=partial(_some_rows, self.store, digests),
            content=hashlib.sha256("".join(digests).encode()).hexdigest(),
        )

    def rows(self, files: Sequence[str]) -> Tensor:
        """The features of image files that :meth:`compute` has seen, N x width.

        :param files: the files, none of them damaged.
        """
        return self.store.rows([self._digests[file] for file in files])

    def _compute(self, files: Sequence[str]) -> dict[str, str]:
        """Compute and keep features; returns what is wrong with the files of some
        digests."""
        faults: dict[str, str] = {}
        digests: list[str] = []
        rows: list[Tensor] = []

        def keep() -> None:
            if digests:
                self.store.add(digests, torch.cat(rows))
            digests.clear()
            rows.clear()

        console = Console(stderr=True, force_terminal=sys.stderr.isatty())
        progress = Progress(
            TextColumn(f"features by {self.backbone.name}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("images,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=len(files) < SHOWN_FROM or not console.is_terminal,
        )
        with progress:
            task = progress.add_task("", total=len(files))
            for batch in embedded(files, self.backbone, device=self.device):
                digests += [self._digests[files[k]] for k in batch.positions]
                if batch.positions:
                    rows.append(batch.features)
                faults |= {
                    self._digests[files[k]]: fault for k, fault in batch.faults.items()
                }
                progress.advance(task, len(batch.positions) + len(batch.faults))
                if len(digests) >= KEPT_EVERY:
                    keep()
            keep()
        return faults


def _some_rows(store: FeatureStore, digests: Sequence[str], indices: Tensor) -> Tensor:
    return store.rows([digests[k] for k in indices.tolist()])

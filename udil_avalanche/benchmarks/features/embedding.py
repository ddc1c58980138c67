"""Images in, features out, on all cores."""

import os
import pickle
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from udil_avalanche.data.image_reading import BadImage, read_image
from udil_avalanche.models.backbones import Backbone

BATCH_SIZE = 16
"""Images that the network sees at once, always: how it rounds depends on their number,
but on nothing else about the other images. So a feature is the same, bit for bit,
whatever it was computed together with."""


class Embedded(NamedTuple):
    """What became of a batch of files."""

    positions: list[int]
    """Which of the files could be read."""

    features: Tensor
    """A row for each of these."""

    faults: dict[int, str]
    """What is wrong with each of the others."""


def cores() -> int:
    """How many processes compute features: one for each core that may be used."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def embedded(
    files: Sequence[str],
    backbone: Backbone,
    *,
    device: str | torch.device = "cpu",
    processes: int | None = None,
) -> Iterator[Embedded]:
    """Compute the features of image files, batch by batch.

    On the CPU, each process decodes images and runs the network on them, with one
    thread: that is faster than many threads on one batch. On other devices the
    processes only decode.

    :param files: the image files.
    :param backbone: maps images to features.
    :param device: where the network runs.
    :param processes: how many processes; one for each core if ``None``.
    """
    device = torch.device(device)
    on_cpu = device.type == "cpu"
    batches = torch.split(torch.arange(len(files)), BATCH_SIZE)
    processes = cores() if processes is None else processes
    # A single process or batch needs no worker, and may use all threads.
    workers = min(processes, len(batches)) if min(processes, len(batches)) > 1 else 0
    arriving: Any = iter(
        DataLoader(
            _Batches(files, backbone.image_size, backbone if on_cpu else None),
            sampler=batches,
            batch_size=None,
            num_workers=workers,
            # The DataLoader's draws must not change torch's own generator.
            generator=torch.Generator(),
        )
    )
    if not on_cpu:
        backbone = backbone.to(device)
    try:
        for batch in arriving:
            if not on_cpu:
                images = batch.features.to(device)
                features = torch.empty(0)
                if len(images):
                    features = _features(backbone, images).cpu()
                batch = batch._replace(features=features)
            yield batch
    finally:
        # An exception would keep the iterator alive, and with it the workers.
        if workers:
            arriving._shutdown_workers()


class _Batches(Dataset[Embedded]):
    """A dataset whose items are batches: features, or images without a backbone."""

    def __init__(
        self, files: Sequence[str], image_size: int, backbone: Backbone | None
    ) -> None:
        self._files = files
        self._image_size = image_size
        self._backbone = backbone

    def __getstate__(self) -> dict[str, Any]:
        """For processes that do not start as copies: the backbone as one piece. Torch
        would pass every tensor of it by an open file, and these are limited."""
        return {**vars(self), "_backbone": pickle.dumps(self._backbone)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        backbone = pickle.loads(state["_backbone"])
        vars(self).update({**state, "_backbone": backbone})

    def __getitem__(self, positions: Tensor) -> Embedded:
        images, faults = {}, {}
        for k in positions.tolist():
            try:
                images[k] = read_image(self._files[k], self._image_size)
            except BadImage as error:
                faults[k] = str(error)
        if not images:
            return Embedded([], torch.empty(0), faults)
        pixels = torch.from_numpy(np.stack(list(images.values())))
        batch = pixels.permute(0, 3, 1, 2)
        made = batch if self._backbone is None else _features(self._backbone, batch)
        return Embedded(list(images), made, faults)


def _features(backbone: Backbone, images: Tensor) -> Tensor:
    """The features of at most :data:`BATCH_SIZE` images."""
    blank = images.new_zeros(BATCH_SIZE - len(images), *images.shape[1:])
    features: Tensor = backbone(torch.cat([images, blank]))
    return features[: len(images)].contiguous()

"""Mini-batches of image files, decoded in worker processes."""

import ctypes
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from udil_avalanche.data.attributes import sample_attributes
from udil_avalanche.data.image_files import ImageFiles, image_source
from udil_avalanche.data.image_reading import BadImage
from udil_avalanche.errors import RunError
from udil_avalanche.plugins.loaders.loader_plugin import LoaderPlugin

PARENT_DEATH_SIGNAL = 1
"""Linux's name for the setting of prctl, from prctl.h."""

WORKER_LOST = (
    "a process that decodes images was ended from outside, perhaps because the machine "
    "has too little memory\nTry fewer workers, workers=0, or a smaller batch_size; the "
    "same command resumes from the last saved state"
)


@dataclass(eq=False)
class ImageLoader:
    """Iterates over a domain of image files; worker processes decode mini-batches.

    The order of an epoch is drawn from torch's generator when the epoch begins, and
    does not depend on the number of workers. The workers of an epoch end with it, even
    if it is interrupted.

    :param dataset: the Avalanche dataset.
    :param source: the files behind it, in its order.
    :param batch_size: samples per mini-batch; the last one may be smaller. When
        shuffling, a single sample that is left over joins the mini-batch before it:
        BatchNorm cannot learn from one sample.
    :param shuffle: whether each epoch has a new random order.
    :param drop_last: whether to drop a last mini-batch that is smaller.
    :param workers: processes that decode; 0 decodes in the training process.
    """

    dataset: AvalancheDataset
    source: ImageFiles
    batch_size: int
    shuffle: bool
    drop_last: bool = False
    workers: int = 0

    def __post_init__(self) -> None:
        whole, rest = divmod(len(self.source), self.batch_size)
        self._sizes = [self.batch_size] * whole
        if rest == 1 and self.shuffle and whole and not self.drop_last:
            self._sizes[-1] += 1
        elif rest and not self.drop_last:
            self._sizes.append(rest)
        self._attributes = sample_attributes(self.dataset)

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[list[Tensor]]:
        n = len(self.source)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        batches = torch.split(order[: sum(self._sizes)], self._sizes)
        # A worker cannot decode a single batch in advance.
        workers = min(self.workers, len(batches)) if len(batches) > 1 else 0
        decoded = DataLoader(
            _WholeBatches(self.source),
            sampler=batches,
            batch_size=None,
            num_workers=workers,
            # The DataLoader's draws must not change torch's own generator.
            generator=torch.Generator(),
            worker_init_fn=_end_with_parent,
        )
        arriving: Any = iter(decoded)
        try:
            for positions in batches:
                x, y = _next(arriving)
                yield [x, y, *(values[positions] for values in self._attributes)]
        finally:
            # An exception would keep the iterator alive, and with it the workers.
            if workers:
                arriving._shutdown_workers()


def _next(arriving: Iterator[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The next mini-batch.

    :raises BadImage: if an image cannot be decoded; torch adds the worker's traceback.
    :raises RunError: if a worker was ended from outside.
    """
    try:
        with lost_workers_explained():
            return next(arriving)
    except BadImage as error:
        raise BadImage(str(error).rpartition("BadImage: ")[2].strip()) from None
    except (OSError, EOFError) as error:
        # The worker has ended while it handed over a tensor.
        raise RunError(WORKER_LOST) from error


@contextmanager
def lost_workers_explained() -> Iterator[None]:
    """Say in plain words that a worker was ended from outside. torch tells of it at any
    moment, also between two mini-batches.

    :raises RunError: if one was.
    """
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise RunError(WORKER_LOST) from error


def _end_with_parent(worker: int) -> None:
    """Let a worker end at once when the training process is killed. Without Linux's
    signal for it, torch's workers look every five seconds."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


class _WholeBatches(Dataset[tuple[Tensor, Tensor]]):
    """A dataset whose items are mini-batches, indexed by their positions."""

    def __init__(self, source: ImageFiles) -> None:
        self._source = source

    def __getitem__(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        return self._source.batch(positions)


class ImageLoaderPlugin(LoaderPlugin):
    """Loads domains of image files with worker processes, in any strategy.

    Put it before plugins that replace the loader themselves. Datasets that are not made
    of image files keep their loader.

    For the domains of :func:`~udil_avalanche.folders`::

        benchmark = folders("photos", image_size=64)
        model = image_model("resnet18", benchmark.n_classes, image_size=64)
        plugins = [ImageLoaderPlugin(workers=2), RandomFlipPlugin()]
        strategy = Naive(model=model, optimizer=optimizer, plugins=plugins)

    :param workers: processes that decode; 0 decodes in the training process.
    """

    def __init__(self, workers: int = 2) -> None:
        super().__init__()
        if workers < 0:
            raise ValueError(f"workers must not be negative, but it is {workers}.")
        self.workers = workers

    def loader(self, dataset: AvalancheDataset, **settings: Any) -> ImageLoader | None:
        files = image_source(dataset)
        if files is None:
            return None
        return ImageLoader(dataset, files, workers=self.workers, **settings)

"""Mini-batches of image files, decoded in worker processes."""

from collections.abc import Iterator
from typing import Any

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from udil_avalanche.data.attributes import sample_attributes
from udil_avalanche.data.image_files import ImageFiles, image_source
from udil_avalanche.plugins.loaders.loader_plugin import LoaderPlugin


class ImageLoader:
    """Iterates over a domain of image files; a worker process makes whole mini-batches.

    The order of an epoch is one draw of torch's generator when it begins and depends on
    nothing else, least of all on the number of workers. The workers of an epoch end
    with it, also if it is broken off.

    :param dataset: the Avalanche dataset.
    :param source: the files behind it, in its order.
    :param batch_size: samples per mini-batch; the last one may be smaller. A single
        sample that would be left over when shuffling joins the mini-batch before it:
        BatchNorm cannot learn from one sample.
    :param shuffle: whether each epoch has an order of its own.
    :param drop_last: whether to leave out a last mini-batch that is smaller.
    :param workers: processes that decode; with 0 this one does.
    """

    def __init__(
        self,
        dataset: AvalancheDataset,
        source: ImageFiles,
        batch_size: int,
        shuffle: bool,
        drop_last: bool = False,
        workers: int = 0,
    ) -> None:
        self.dataset = dataset
        self.source = source
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.workers = workers
        n = len(source)
        whole, rest = divmod(n, batch_size)
        self._sizes = [batch_size] * whole
        if rest == 1 and shuffle and whole and not drop_last:
            self._sizes[-1] += 1
        elif rest and not drop_last:
            self._sizes.append(rest)
        self._attributes = sample_attributes(dataset)

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[list[Tensor]]:
        n = len(self.source)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        batches = order[: sum(self._sizes)].split(self._sizes)
        # One batch alone would be waited for, whoever makes it.
        workers = min(self.workers, len(batches)) if len(batches) > 1 else 0
        decoded = DataLoader(
            _WholeBatches(self.source),
            sampler=batches,
            batch_size=None,
            num_workers=workers,
            # Its own draws must not move torch's generator.
            generator=torch.Generator(),
        )
        arriving: Any = iter(decoded)
        try:
            for positions, (x, y) in zip(batches, arriving, strict=True):
                yield [x, y, *(values[positions] for values in self._attributes)]
        finally:
            # An exception would keep the iterator, and with it the workers, alive.
            if workers:
                arriving._shutdown_workers()


class _WholeBatches(Dataset):
    """Asked for the positions of a mini-batch, gives the mini-batch."""

    def __init__(self, source: ImageFiles) -> None:
        self._source = source

    def __getitem__(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        return self._source.batch(positions)


class ImageLoaderPlugin(LoaderPlugin):
    """Feeds domains of image files to any strategy, decoded by worker processes.

    Put it before plugins that replace the loader themselves. Datasets that are not made
    of image files keep the loader that they have.

    :param workers: processes that decode images; with 0 the training process does.
    """

    def __init__(self, workers: int = 2) -> None:
        super().__init__()
        if workers < 0:
            raise ValueError(f"workers must not be negative, but it is {workers}.")
        self.workers = workers

    def loader(
        self,
        dataset: AvalancheDataset,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
    ) -> ImageLoader | None:
        source = image_source(dataset)
        if source is None:
            return None
        return ImageLoader(
            dataset, source, batch_size, shuffle, drop_last, self.workers
        )


__all__ = ["ImageLoader", "ImageLoaderPlugin"]

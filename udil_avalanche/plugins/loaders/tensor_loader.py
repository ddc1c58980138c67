"""Mini-batches by indexing tensors."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from torch import Tensor

from udil_avalanche.data.tensor_dataset import (
    TensorBatches,
    TensorSource,
    tensor_source,
)
from udil_avalanche.plugins.loaders.loader_plugin import LoaderPlugin


class GivenBatch(NamedTuple):
    """A mini-batch that a loader has given out."""

    positions: Tensor
    """Where in the dataset its samples are."""

    inputs: Tensor
    """Its inputs."""

    version: int
    """Of the inputs, when they were given out."""

    def begins(self, inputs: Tensor) -> bool:
        """Whether ``inputs`` begin with those given out, and nobody has changed them.

        :param inputs: of a mini-batch that others may have appended samples to.
        """
        first = inputs[: len(self.inputs)]
        untouched = self.inputs._version == self.version
        return untouched and torch.equal(first, self.inputs.to(first.device))


class TensorLoader:
    """Iterates over a domain of tensors, one index operation per mini-batch.

    :param dataset: the Avalanche dataset.
    :param source: the tensors behind it.
    :param batch_size: samples per mini-batch; the last one may be smaller.
    :param shuffle: whether each epoch has an order of its own.
    :param drop_last: whether to leave out a last mini-batch that is smaller.
    """

    def __init__(
        self,
        dataset: AvalancheDataset,
        source: TensorSource,
        batch_size: int,
        shuffle: bool,
        drop_last: bool = False,
    ) -> None:
        self.dataset = dataset
        self.source = source
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.last: GivenBatch | None = None
        """The last mini-batch that was given out."""
        self.batch = TensorBatches(dataset, source)
        """Gives the samples at any positions of the dataset."""

    def __len__(self) -> int:
        if self.drop_last:
            return len(self.dataset) // self.batch_size
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[list[Tensor]]:
        n = len(self.dataset)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        for positions in order.split(self.batch_size)[: len(self)]:
            fields = self.batch(positions)
            self.last = GivenBatch(positions, fields[0], fields[0]._version)
            yield fields


class TensorLoaderPlugin(LoaderPlugin):
    """Feeds domains of tensors to any strategy by whole mini-batches; Avalanche's data
    loaders ask for one sample at a time.

    Put it first in the list of plugins, so that others may still replace the loader.
    Datasets that are not made of tensors keep the loader that they have.
    """

    def _replace(
        self, strategy: Any, batch_size: int, shuffle: bool, drop_last: bool
    ) -> None:
        if not isinstance(strategy.dataloader, TensorLoader):
            super()._replace(strategy, batch_size, shuffle, drop_last)

    def loader(
        self,
        dataset: AvalancheDataset,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
    ) -> TensorLoader | None:
        source = tensor_source(dataset)
        if source is None:
            return None
        return TensorLoader(dataset, source, batch_size, shuffle, drop_last)


__all__ = ["TensorLoader", "TensorLoaderPlugin"]

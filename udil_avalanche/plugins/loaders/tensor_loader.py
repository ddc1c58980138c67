"""Mini-batches by indexing tensors."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from torch import Tensor

from udil_avalanche.data.tensor_dataset import TensorSource, tensor_source
from udil_avalanche.plugins.loaders.loader_plugin import LoaderPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


class GivenBatch(NamedTuple):
    """A mini-batch that a loader has returned."""

    positions: Tensor
    """The positions of its samples in the dataset."""

    inputs: Tensor
    """Its inputs."""

    version: int
    """Torch's version counter of the inputs when they were returned."""

    def begins(self, inputs: Tensor) -> bool:
        """Whether ``inputs`` begin with those returned, and these were not changed.

        :param inputs: of a mini-batch to which samples may have been appended.
        """
        first = inputs[: len(self.inputs)]
        untouched = self.inputs._version == self.version
        return untouched and torch.equal(first, self.inputs.to(first.device))


@dataclass(eq=False)
class TensorLoader:
    """Iterates over a domain of tensors, one index operation per mini-batch.

    :param dataset: the Avalanche dataset.
    :param source: the tensors behind it.
    :param batch_size: samples per mini-batch; the last one may be smaller.
    :param shuffle: whether each epoch has a new random order.
    :param drop_last: whether to drop a last mini-batch that is smaller.
    """

    dataset: AvalancheDataset
    source: TensorSource
    batch_size: int
    shuffle: bool
    drop_last: bool = False
    last: GivenBatch | None = field(default=None, init=False)
    """The last mini-batch that was returned."""

    def __len__(self) -> int:
        rounded_up = 0 if self.drop_last else self.batch_size - 1
        return (len(self.dataset) + rounded_up) // self.batch_size

    def __iter__(self) -> Iterator[list[Tensor]]:
        n = len(self.dataset)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        for positions in torch.split(order, self.batch_size)[: len(self)]:
            fields = self.source.batch(positions)
            self.last = GivenBatch(positions, fields[0], fields[0]._version)
            yield fields


class TensorLoaderPlugin(LoaderPlugin):
    """Loads domains of tensors by whole mini-batches, in any strategy; Avalanche's data
    loaders load one sample at a time.

    Put it first in the list of plugins, so that others can still replace the loader.
    Datasets that are not made of tensors keep their loader.

    ::

        plugins = [TensorLoaderPlugin(), BalancedReplayPlugin(mem_size=400)]
        strategy = Naive(model=model, optimizer=optimizer, plugins=plugins)
        strategy.train(hd_balls(domains=3).train_stream)
    """

    def _replace(self, strategy: Strategy, **settings: Any) -> None:
        if not isinstance(strategy.dataloader, TensorLoader):
            super()._replace(strategy, **settings)

    def loader(self, dataset: AvalancheDataset, **settings: Any) -> TensorLoader | None:
        source = tensor_source(dataset)
        return None if source is None else TensorLoader(dataset, source, **settings)

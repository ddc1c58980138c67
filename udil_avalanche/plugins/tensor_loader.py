"""Mini-batches by indexing tensors."""

from collections.abc import Iterator
from typing import Any

import torch
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor

from udil_avalanche.tensor_data import TensorSource, tensor_source


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
        self._attributes = [
            torch.as_tensor(list(attribute))
            for attribute in dataset._data_attributes.values()
            if attribute.use_in_getitem
        ]

    def __len__(self) -> int:
        if self.drop_last:
            return len(self.dataset) // self.batch_size
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[list[Tensor]]:
        n = len(self.dataset)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        for positions in order.split(self.batch_size)[: len(self)]:
            x, y = self.source.domain.batch(self.source.indices[positions])
            yield [x, y, *(values[positions] for values in self._attributes)]


class TensorLoaderPlugin(SupervisedPlugin):
    """Feeds domains of tensors to any strategy by whole mini-batches; Avalanche's data
    loaders ask for one sample at a time.

    Put it first in the list of plugins, so that others may still replace the loader.
    Datasets that are not made of tensors keep the loader that they have.
    """

    def before_training_exp(
        self,
        strategy: Any,
        shuffle: bool = True,
        drop_last: bool = False,
        **kwargs: Any,
    ) -> None:
        """Replace the training loader."""
        self._replace(strategy, strategy.train_mb_size, shuffle, drop_last)

    def before_eval_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Replace the evaluation loader."""
        self._replace(strategy, strategy.eval_mb_size, shuffle=False, drop_last=False)

    def _replace(
        self, strategy: Any, batch_size: int, shuffle: bool, drop_last: bool
    ) -> None:
        source = tensor_source(strategy.adapted_dataset)
        if source is not None:
            strategy.dataloader = TensorLoader(
                strategy.adapted_dataset, source, batch_size, shuffle, drop_last
            )


__all__ = ["TensorLoader", "TensorLoaderPlugin"]

"""The base class of the plugins that replace Avalanche's data loaders."""

from abc import ABC, abstractmethod
from typing import Any

from avalanche.benchmarks.utils import AvalancheDataset

from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class LoaderPlugin(Plugin, ABC):
    """Replaces the loaders of training and evaluation by faster ones."""

    def before_training_exp(
        self,
        strategy: Strategy,
        shuffle: bool = True,
        drop_last: bool = False,
        **kwargs: Any,
    ) -> None:
        """Replace the training loader."""
        size = strategy.train_mb_size
        self._replace(strategy, batch_size=size, shuffle=shuffle, drop_last=drop_last)

    def before_eval_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Replace the evaluation loader."""
        self._replace(strategy, batch_size=strategy.eval_mb_size, shuffle=False)

    def _replace(self, strategy: Strategy, **settings: Any) -> None:
        loader = self.loader(strategy.adapted_dataset, **settings)
        if loader is not None:
            strategy.dataloader = loader

    @abstractmethod
    def loader(self, dataset: AvalancheDataset, **settings: Any) -> Any:
        """A loader for the dataset; ``None`` keeps the one that it has.

        :param dataset: the dataset to train or evaluate on.
        :param settings: ``batch_size``, ``shuffle`` and ``drop_last``.
        """

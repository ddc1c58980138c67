"""What the plugins that replace Avalanche's data loaders share."""

from abc import ABC, abstractmethod
from typing import Any

from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.training.plugins import SupervisedPlugin


class LoaderPlugin(SupervisedPlugin, ABC):
    """Replaces the loaders of training and evaluation where it has a better one."""

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
        loader = self.loader(strategy.adapted_dataset, batch_size, shuffle, drop_last)
        if loader is not None:
            strategy.dataloader = loader

    @abstractmethod
    def loader(
        self,
        dataset: AvalancheDataset,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
    ) -> Any:
        """A loader for the dataset, ``None`` if it may keep the one that it has.

        :param dataset: what is trained or evaluated on.
        :param batch_size: samples per mini-batch.
        :param shuffle: whether each epoch has an order of its own.
        :param drop_last: whether to leave out a last mini-batch that is smaller.
        """


__all__ = ["LoaderPlugin"]

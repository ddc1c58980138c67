"""What all methods are built from."""

from dataclasses import dataclass
from typing import Any

from avalanche.core import BasePlugin
from avalanche.training.supervised import Naive
from avalanche.training.templates import SupervisedTemplate

from udil_avalanche.plugins import RandomFlipPlugin, TensorLoaderPlugin


@dataclass(frozen=True)
class Training:
    """The part of a strategy that does not depend on the method.

    :param arguments: model, optimizer, batch sizes, epochs, device and evaluator, as
        Avalanche's strategies take them.
    :param plugins: what comes after the method's own plugins, but for ``flip``.
    :param flip: mirrors the images of every mini-batch, if that is wanted.
    """

    arguments: dict[str, Any]
    plugins: list[BasePlugin]
    flip: RandomFlipPlugin | None = None

    @property
    def shared_plugins(self) -> list[BasePlugin]:
        """What comes after the method's own plugins, the mirroring included."""
        return [*([] if self.flip is None else [self.flip]), *self.plugins]

    def naive(self, *own: BasePlugin, **arguments: Any) -> SupervisedTemplate:
        """Plain training with a method's own plugins, which is all most methods need.

        :param own: the method's plugins, in their order.
        :param arguments: more arguments of Avalanche's ``Naive``, such as a criterion.
        """
        plugins = [TensorLoaderPlugin(), *own, *self.shared_plugins]
        return Naive(plugins=plugins, **self.arguments, **arguments)

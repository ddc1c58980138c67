"""Plugins whose state is a few of their attributes."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class StatefulPlugin(Plugin):
    """A plugin that keeps something from one training iteration to the next."""

    saved: ClassVar[tuple[str, ...]] = ()
    """The attributes to save: numbers, tensors, and lists or dictionaries of them."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        return {name: getattr(self, name) for name in self.saved}

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, with its model already loaded.
        """
        for name in self.saved:
            setattr(self, name, on_device(state[name], strategy.device))


def on_device(value: Any, device: torch.device) -> Any:
    """Move all tensors in nested lists and dictionaries to a device.

    :param value: a tensor, a plain value, or a list or dictionary of such.
    :param device: the device.
    """
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: on_device(each, device) for key, each in value.items()}
    if isinstance(value, list):
        return [on_device(each, device) for each in value]
    return value

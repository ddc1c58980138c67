"""What a plugin asks of the others that it works with."""

from typing import Any

from avalanche.core import BasePlugin

from udil_avalanche.memory.reservoir import ReservoirMemory
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin


def require_before(strategy: Any, plugin: BasePlugin, *others: BasePlugin) -> None:
    """Refuse to train unless the other plugins are the strategy's and come first.

    :param strategy: the strategy.
    :param plugin: the plugin that needs the others.
    :param others: the plugins that it needs.
    :raises ValueError: if one is missing or comes too late.
    """
    names = ", ".join(type(each).__name__ for each in (*others, plugin))
    before = strategy.plugins[: strategy.plugins.index(plugin)]
    if any(other not in before for other in others):
        raise ValueError(
            f"{type(plugin).__name__} works with other plugins, which the strategy "
            f"must have as well, before it: plugins=[{names}]."
        )


def require_past_domains_only(plugin: BasePlugin, replay: MemoryPlugin) -> None:
    """Refuse a memory that changes while a domain is learned.

    :param plugin: the plugin that needs a memory of past domains.
    :param replay: what it was given.
    :raises ValueError: if its memory is a reservoir.
    """
    if isinstance(replay.memory, ReservoirMemory):
        raise ValueError(
            f"{type(plugin).__name__} needs a memory of past domains that stays as it "
            f"is during a domain: make its replay plugin with reservoir=False."
        )


__all__ = ["require_before", "require_past_domains_only"]

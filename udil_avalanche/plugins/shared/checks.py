"""Checks whose messages say how to correct a wrong setup."""

from avalanche.core import BasePlugin

from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


def require_before(strategy: Strategy, plugin: BasePlugin, *others: BasePlugin) -> None:
    """Check that the strategy has the plugins that another one needs, before it.

    :param strategy: the strategy.
    :param plugin: the plugin that needs the others.
    :param others: the plugins that it needs.
    :raises ValueError: if one is missing or comes too late.
    """
    names = ", ".join(type(each).__name__ for each in (*others, plugin))
    before = strategy.plugins[: strategy.plugins.index(plugin)]
    if any(other not in before for other in others):
        raise ValueError(
            f"{type(plugin).__name__} needs other plugins of the strategy to come "
            f"before it: plugins=[{names}]."
        )


def require_past_domains_only(plugin: BasePlugin, replay: MemoryPlugin) -> None:
    """Check that the memory does not change while a domain is learned.

    :param plugin: the plugin that needs a memory of past domains.
    :param replay: its replay plugin.
    :raises ValueError: if its memory is a reservoir.
    """
    if replay.memory.updated_every_step:
        raise ValueError(
            f"{type(plugin).__name__} needs a memory of past domains that does not "
            f"change during a domain: create its replay plugin with reservoir=False."
        )


def positive(name: str, value: int) -> int:
    """Check that a setting is at least 1, and return it.

    :param name: of the setting.
    :param value: its value.
    :raises ValueError: if it is not.
    """
    if value < 1:
        raise ValueError(f"{name} must be positive, but it is {value}.")
    return value

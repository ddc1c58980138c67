"""Checks whose messages say how to correct a wrong setup."""

from avalanche.core import BasePlugin
from avalanche.models.utils import is_multi_task_module
from torch import nn

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


def require_one_head(plugin: BasePlugin, model: nn.Module) -> None:
    """Refuse a model with a head for each task.

    :param plugin: the plugin that cannot use it.
    :param model: the model.
    :raises ValueError: if it has several heads.
    """
    if is_multi_task_module(model):
        raise ValueError(
            f"{type(plugin).__name__} needs one classifier for all domains, but "
            f"{type(model).__name__} has one for each task, and an earlier model has "
            "none for a new task. Use a model with one classifier, or a method such as "
            "LwF, EWC, SI or ER."
        )


def single_task(strategy: Strategy) -> int:
    """The task label of the experience in training, for a model with a head for each
    task; 0 for any other model.

    :param strategy: the strategy.
    :raises ValueError: if the samples have several.
    """
    if not is_multi_task_module(strategy.model):
        return 0
    found = set(strategy.experience.dataset.targets_task_labels.uniques)
    if len(found) > 1:
        raise ValueError(
            f"The samples of one experience have {len(found)} task labels. A method "
            "that measures the weights after each domain needs one task at a time."
        )
    return int(found.pop())


def positive(name: str, value: int) -> int:
    """Check that a setting is at least 1, and return it.

    :param name: of the setting.
    :param value: its value.
    :raises ValueError: if it is not.
    """
    if value < 1:
        raise ValueError(f"{name} must be positive, but it is {value}.")
    return value

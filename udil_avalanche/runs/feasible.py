"""Whether this machine can do a run, before it begins."""

import copy
import os

import torch
from torch import nn

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.build import build_model

MOST_THREADS = 64
"""Threads that a machine with fewer cores is still given; torch crashes when the system
cannot start as many as it is told to."""

WIDE = 10_000
"""Hidden layers up to this width fit into any machine."""

COPIES = 2
"""What training needs at least: the weights and their gradients."""


def check_machine(settings: RunSettings) -> None:
    """Refuse a device that cannot compute, and more threads than the machine can start.

    :param settings: the settings of the run.
    :raises SettingsError: with the setting.
    """
    try:
        torch.zeros((), device=settings.device).item()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(f"device={settings.device}: {reason}") from error
    cores = os.cpu_count() or 1
    if (settings.threads or 0) > max(MOST_THREADS, 2 * cores):
        raise SettingsError(
            f"threads={settings.threads}: this machine has {cores} cores"
        )


def check_model_size(settings: RunSettings, benchmark: DomainScenario) -> None:
    """Refuse hidden layers that do not fit into the machine's memory. The model is
    built without its weights, to count them.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    :raises SettingsError: with the sizes.
    """
    memory = _memory()
    if settings.hidden <= WIDE or memory is None:
        return
    with torch.device("meta"):
        counted = build_model(settings.model_copy(update=_PLAIN), benchmark)
    needed = COPIES * sum(p.numel() * p.element_size() for p in counted.parameters())
    if needed > memory:
        raise SettingsError(
            f"hidden={settings.hidden}: the model needs at least "
            f"{needed / 2**30:,.0f} GiB, and this machine has {memory / 2**30:,.0f}"
        )


_PLAIN = {"standardise": False, "weights": None}
"""Settings without which a model is built of its layers alone."""


def check_batch_size(
    settings: RunSettings, benchmark: DomainScenario, model: nn.Module
) -> None:
    """Refuse a single sample in a step where the model cannot learn from one, as with
    BatchNorm after the image has shrunk to a point.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    :param model: the model; it stays as it is.
    :raises SettingsError: with the layer's complaint.
    """
    if settings.batch_size > 1:
        return
    x = benchmark.test_stream[0].dataset[0][0].unsqueeze(0)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            copy.deepcopy(model).train()(x)
        except ValueError as error:
            raise SettingsError(
                "batch_size=1: this model has BatchNorm, which cannot learn from a "
                "single sample; use at least 2"
            ) from error


def _memory() -> int | None:
    """Bytes of the machine's memory, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None

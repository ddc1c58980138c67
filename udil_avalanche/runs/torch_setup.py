"""How torch is set up for every run."""

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""glibc's names for the settings of its malloc, from malloc.h."""

LARGEST_KEPT = 128 * 2**20
KEPT_IN_ALL = 2**30


def set_up_torch() -> None:
    """Make arithmetic fast and repeatable, and reuse memory."""
    # Numbers below 1e-38, as in SupCon's exponentials, are many times slower on a CPU.
    torch.set_flush_denormal(True)
    # Some gradients are otherwise summed in the order in which the threads finish.
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Nothing here reads memory before writing it, and filling it takes 1 % of a step.
    # The attribute is a property, which is not in the type of the module.
    setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010
    keep_freed_memory()


@contextmanager
def torch_as_it_was() -> Iterator[None]:
    """Put torch's settings back afterwards, for code that runs in somebody else's
    program. What :func:`keep_freed_memory` sets cannot be read, and stays.

    Denormal numbers are a setting of the processor and concern NumPy as well.
    """
    threads = torch.get_num_threads()
    flushes = flushes_denormals()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fills = getattr(torch.utils.deterministic, "fill_uninitialized_memory")  # noqa: B009
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushes)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        setattr(torch.utils.deterministic, "fill_uninitialized_memory", fills)  # noqa: B010


def flushes_denormals() -> bool:
    """Whether this thread takes numbers below 1e-38 for 0."""
    return not (torch.tensor([2e-38]) / 4).any()


def seed_all(seed: int) -> None:
    """Seed the random generators of Python, NumPy and torch.

    :param seed: the seed of the run.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def keep_freed_memory() -> bool:
    """Let the C library keep the memory that a step has freed for the next one.

    glibc returns large blocks to the system at once and gets them again, zeroed and
    page by page: with ResNet-18 on images of 32 pixels that is a tenth of a step.

    :return: whether the C library has this setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    kept = {MMAP_THRESHOLD: LARGEST_KEPT, TRIM_THRESHOLD: KEPT_IN_ALL}
    return all([mallopt(name, size) for name, size in kept.items()])

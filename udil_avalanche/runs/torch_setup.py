"""How torch is set up for every run."""

import ctypes

import torch

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""glibc's names for the settings of its malloc, from malloc.h."""

LARGEST_KEPT = 128 * 2**20
KEPT_IN_ALL = 2**30


def set_up_torch() -> None:
    """Fast and repeatable arithmetic, and memory that is used again."""
    # Numbers below 1e-38, as in SupCon's exponentials, take a CPU many times as long.
    torch.set_flush_denormal(True)
    # Some gradients are otherwise summed in the order in which the threads finish.
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Nothing here reads memory that it has not written; filling it takes 1 % of a step.
    # The module's attribute is a property, which its type does not tell.
    setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010
    keep_freed_memory()


def keep_freed_memory() -> bool:
    """Let the C library keep memory that a step has freed for the next one.

    glibc gives large blocks back to the system at once and gets them again, zeroed and
    page by page: with ResNet-18 on images of 32 pixels that is a tenth of a step.

    :return: whether there is a malloc that can be told so.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    heard = [
        mallopt(MMAP_THRESHOLD, LARGEST_KEPT),
        mallopt(TRIM_THRESHOLD, KEPT_IN_ALL),
    ]
    return all(heard)


__all__ = ["keep_freed_memory", "set_up_torch"]

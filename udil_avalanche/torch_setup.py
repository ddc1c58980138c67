"""How torch is set up for every run."""

import torch


def set_up_arithmetic() -> None:
    """Fast and repeatable arithmetic."""
    # Numbers below 1e-38, as in SupCon's exponentials, take a CPU many times as long.
    torch.set_flush_denormal(True)
    # Some gradients are otherwise summed in the order in which the threads finish.
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Nothing here reads memory that it has not written; filling it takes 1 % of a step.
    # The module's attribute is a property, which its type does not tell.
    setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010


__all__ = ["set_up_arithmetic"]

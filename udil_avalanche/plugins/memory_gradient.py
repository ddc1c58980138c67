"""Gradients as flat vectors, of the mini-batch and of the memory."""

from collections.abc import Sequence
from typing import Any

import torch
from avalanche.models import avalanche_forward
from torch import Tensor, nn

from udil_avalanche.memory import Memory


def parameters_and_gradients(
    model: nn.Module,
) -> tuple[list[nn.Parameter], list[Tensor]]:
    """The parameters that the last backward pass has reached, and their gradients."""
    reached = [each for each in model.parameters() if each.grad is not None]
    return reached, [each.grad for each in reached if each.grad is not None]


def flat(tensors: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
    """All values as one vector.

    :param tensors: what to put one after the other.
    :param out: where to put them, if there is room already.
    """
    return torch.cat([each.flatten() for each in tensors], out=out)


def set_flat(tensors: Sequence[Tensor], values: Tensor) -> None:
    """The inverse of :func:`flat`, in place.

    :param tensors: what to overwrite.
    :param values: one vector, in their order.
    """
    parts = values.split([each.numel() for each in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def memory_gradient(
    strategy: Any,
    memory: Memory,
    positions: Tensor,
    parameters: Sequence[nn.Parameter],
    out: Tensor | None = None,
) -> Tensor:
    """The gradient of the strategy's loss on samples of the memory, as one vector. The
    gradients of the mini-batch stay where they are.

    :param strategy: the strategy, whose model and criterion count.
    :param memory: the memory.
    :param positions: where in it the samples are.
    :param parameters: what to differentiate by.
    :param out: where to put it, if there is room already.
    """
    x, tasks = memory.fields[0][positions], memory.fields[-1][positions]
    logits = avalanche_forward(strategy.model, x, tasks)
    loss = strategy._criterion(logits, memory.labels[positions])
    parts = torch.autograd.grad(loss, parameters, materialize_grads=True)
    return flat(parts, out)


__all__ = ["flat", "memory_gradient", "parameters_and_gradients", "set_flat"]

"""Gradients as flat vectors, of the mini-batch and of the memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from avalanche.models import avalanche_forward
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory

VALUES_AT_ONCE = 2**22
"""How many values of inputs are differentiated through at once: 85 images of 128 x 128
pixels, 1,365 of 32 x 32."""


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
    gradients of the mini-batch stay where they are, and so do BatchNorm's running
    statistics: a look at the memory is no step of learning from it.

    Large images are looked at a few at a time: their activations would not fit into
    memory.

    :param strategy: the strategy, whose model and criterion count.
    :param memory: the memory.
    :param positions: where in it the samples are.
    :param parameters: what to differentiate by.
    :param out: where to put it, if there is room already.
    """
    inputs = memory.fields[0]
    size = max(1, VALUES_AT_ONCE // inputs[0].numel())
    gradient: Tensor | None = None
    with _buffers_kept(strategy.model):
        for chunk in positions.tensor_split(-(-len(positions) // size)):
            logits = avalanche_forward(
                strategy.model, inputs[chunk], memory.fields[-1][chunk]
            )
            loss = strategy._criterion(logits, memory.labels[chunk])
            parts = torch.autograd.grad(loss, parameters, materialize_grads=True)
            if len(chunk) == len(positions):
                return flat(parts, out)
            share = flat(parts).mul_(len(chunk) / len(positions))
            gradient = share if gradient is None else gradient.add_(share)
    assert gradient is not None
    return gradient if out is None else out.copy_(gradient)


@contextmanager
def _buffers_kept(model: nn.Module) -> Iterator[None]:
    before = [buffer.clone() for buffer in model.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(model.buffers(), before, strict=True):
            buffer.copy_(value)


__all__ = ["flat", "memory_gradient", "parameters_and_gradients", "set_flat"]

"""The gradient of the mini-batch and that of the memory."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Strategy

Gradients = dict[Tensor, Tensor]
"""The gradient of each parameter."""

VALUES_AT_ONCE = 2**22
"""How many input values to differentiate through at once: 85 images of 128 x 128
pixels, 1,365 of 32 x 32."""


def reached_gradients(model: nn.Module) -> Gradients:
    """The gradients of the parameters that the last backward pass has reached."""
    return {each: each.grad for each in model.parameters() if each.grad is not None}


def flat(tensors: Iterable[Tensor], out: Tensor | None = None) -> Tensor:
    """All values as one vector.

    :param tensors: the tensors to concatenate.
    :param out: an existing vector to write to.
    """
    return torch.cat([each.flatten() for each in tensors], out=out)


def unflat(values: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """The inverse of :func:`flat`.

    :param values: one vector.
    :param like: tensors of the wanted shapes.
    """
    parts = torch.split(values, [each.numel() for each in like])
    return [part.view_as(each) for part, each in zip(parts, like, strict=True)]


def memory_gradient(
    strategy: Strategy, memory: Memory, positions: Tensor, parameters: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The gradient of the strategy's loss on samples of the memory. The gradients of
    the mini-batch and BatchNorm's running statistics do not change: the model does not
    learn from these samples.

    Large images are processed a few at a time, as their activations would not fit into
    memory.

    :param strategy: the strategy with the model and the criterion.
    :param memory: the memory.
    :param positions: the positions of the samples in it.
    :param parameters: the parameters to differentiate by.
    :return: one tensor per parameter.
    """
    inputs = memory.fields[0]
    size = max(1, VALUES_AT_ONCE // inputs[0].numel())
    gradient: tuple[Tensor, ...] = ()
    with _buffers_kept(strategy.model):
        for chunk in positions.tensor_split(-(-len(positions) // size)):
            tasks = memory.fields[-1][chunk]
            logits = forward(strategy.model, inputs[chunk], tasks)
            loss = strategy._criterion(logits, memory.labels[chunk])
            parts = torch.autograd.grad(loss, parameters, materialize_grads=True)
            if len(chunk) < len(positions):
                parts = torch._foreach_mul(parts, len(chunk) / len(positions))
            gradient = torch._foreach_add(gradient, parts) if gradient else parts
    return gradient


@contextmanager
def _buffers_kept(model: nn.Module) -> Iterator[None]:
    before = [buffer.clone() for buffer in model.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(model.buffers(), before, strict=True):
            buffer.copy_(value)

"""The inputs and outputs of a model's linear layers.

The gradient of a linear layer's weight on a sample is the outer product of the
derivative by the layer's output and its input. Sums, squares and inner products of such
gradients need only the two factors, which are small.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from udil_avalanche.models.linear import Linear


class LinearCall(NamedTuple):
    """The use of a linear layer in a forward pass."""

    name: str
    """The name of the layer."""

    layer: nn.Linear
    """The layer itself."""

    inputs: Tensor
    """Its inputs, one row per sample, as a constant."""

    outputs: Tensor
    """Its outputs, attached to the graph."""


def linear_calls(
    model: nn.Module, forward: Callable[[], Tensor]
) -> tuple[Tensor, list[LinearCall]]:
    """Run a forward pass and keep the factors of the gradients of its linear layers.

    :param model: the model.
    :param forward: its forward pass.
    :return: its result, and the layers that are used once, on one row per sample, and
        share no parameters with others.
    """
    calls: dict[nn.Linear, list[tuple[Tensor, Tensor]]] = defaultdict(list)

    def record(layer: nn.Linear, inputs: Any, output: Tensor) -> Tensor:
        calls[layer].append((inputs[0].detach(), output))
        # The next layer may work in place.
        return output.clone()

    handles = [
        layer.register_forward_hook(record)
        for layer in model.modules()
        if type(layer) in (nn.Linear, Linear)
    ]
    try:
        given = forward()
    finally:
        for handle in handles:
            handle.remove()

    owners = defaultdict(list)
    for name, module in model.named_modules(remove_duplicate=False):
        for parameter in module.parameters(recurse=False):
            owners[parameter].append(name)
    found = []
    for layer, uses in calls.items():
        inputs, outputs = uses[0]
        if (
            len(uses) == 1
            and outputs.requires_grad
            and outputs.shape[:-1] == (len(given),)
            and all(len(owners[each]) == 1 for each in layer.parameters())
        ):
            [name] = owners[layer.weight]
            found.append(LinearCall(name, layer, inputs, outputs))
    return given, found

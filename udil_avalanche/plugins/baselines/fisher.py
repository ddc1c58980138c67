"""The diagonal of the Fisher information matrix."""

import copy
from collections.abc import Iterable

import torch
from avalanche.models.utils import is_multi_task_module
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from udil_avalanche.models.linear import product
from udil_avalanche.plugins.baselines.linear_layers import linear_calls
from udil_avalanche.plugins.shared.frozen import forward

GRADIENT_VALUES = 2**25
"""How many values of per-sample gradients to hold at once."""


def diagonal_fisher(
    model: nn.Module, batches: Iterable[Tensor], task: int = 0
) -> dict[str, Tensor]:
    r"""The diagonal of the Fisher information of the predicted classes,

    .. math::
        F_j = \frac{1}{N} \sum_{x} \sum_y p(y | x, \theta)
              \Big( \frac{\partial \log p(y | x, \theta)}{\partial \theta_j}
              \Big)^2

    Each sample's gradient is squared by itself, so that the batch size does not matter.
    The sum over y is exact: no labels are drawn, and those of the data are not needed.

    A per-sample gradient of a linear layer's weight is the outer product of the
    derivative by its output and its input, and so is its square: the layer's part takes
    one matrix product, without any per-sample gradient. The other parameters get theirs
    from ``torch.func``, a few samples at a time.

    :param model: gives class logits. It does not change: a copy in evaluation mode is
        used, so that samples do not depend on each other. A linear layer's weight must
        not be used outside the layer.
    :param batches: inputs.
    :param task: their task label, for a model with several heads.
    :return: by name of parameter, for those that are trained.
    """
    model = copy.deepcopy(model).eval()
    fisher = {
        name: torch.zeros_like(parameter)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
    n_samples = 0
    for x in batches:
        by_layer = _squares_of_linear_layers(model, x, task)
        others = {
            name: parameter.detach()
            for name, parameter in model.named_parameters()
            if name in fisher and name not in by_layer
        }
        for squares in (by_layer, _squares_by_sample(model, others, x, task)):
            for name in fisher.keys() & squares.keys():
                fisher[name] += squares[name]
        n_samples += len(x)
    return {name: total / n_samples for name, total in fisher.items()}


def _squares_of_linear_layers(
    model: nn.Module, x: Tensor, task: int
) -> dict[str, Tensor]:
    """The sums over x of those layers that are used once, on one row per sample."""
    logits, layers = linear_calls(model, lambda: forward(model, x, task))
    if not layers:
        return {}
    log_p = logits.log_softmax(dim=1)
    outputs = [call.outputs for call in layers]
    output_squares = [torch.zeros_like(output) for output in outputs]
    for y, p in enumerate(log_p.detach().exp().unbind(dim=1)):
        derivatives = torch.autograd.grad(
            log_p[:, y].sum(), outputs, retain_graph=True, materialize_grads=True
        )
        for total, derivative in zip(output_squares, derivatives, strict=True):
            total += p[:, None] * derivative.square()

    squares = {}
    for call, total in zip(layers, output_squares, strict=True):
        squares[f"{call.name}.weight"] = product(total.T, call.inputs.square().T)
        squares[f"{call.name}.bias"] = total.sum(dim=0)
    return squares


def _squares_by_sample(
    model: nn.Module, parameters: dict[str, Tensor], x: Tensor, task: int
) -> dict[str, Tensor]:
    """The sums over x for ``parameters``, from a gradient for each sample."""
    squares = {name: torch.zeros_like(theta) for name, theta in parameters.items()}
    if not parameters:
        return squares
    # The other parameters must not add a graph to the gradients.
    constant = {name: theta.detach() for name, theta in model.named_parameters()}

    more = (task,) if is_multi_task_module(model) else ()

    def log_p(theta: dict[str, Tensor], sample: Tensor, y: int) -> Tensor:
        logits = functional_call(model, constant | theta, (sample[None], *more))
        log_probability: Tensor = logits.log_softmax(dim=1)[0, y]
        return log_probability

    gradients_and_log_p = vmap(grad_and_value(log_p), in_dims=(None, 0, None))
    with torch.no_grad():
        n_classes = forward(model, x[:1], task).shape[1]
    n_values = sum(theta.numel() for theta in parameters.values())
    for samples in torch.split(x, max(1, GRADIENT_VALUES // n_values)):
        for y in range(n_classes):
            gradients, log_probability = gradients_and_log_p(parameters, samples, y)
            p = log_probability.exp()
            for name, gradient in gradients.items():
                squares[name] += torch.tensordot(p, gradient.square(), dims=1)
    return squares

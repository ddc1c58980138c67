"""The gradient of the mini-batch, and those of the loss on the memory.

GEM needs the matrix G with one row per past domain. Two classes represent it and
compute the same three products with it. Where the model allows it, the first one never
builds G.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory
from udil_avalanche.models.linear import product
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.plugins.baselines.linear_layers import LinearCall, linear_calls
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Strategy

Gradients = dict[Tensor, Tensor]
"""The gradient of each parameter."""

VALUES_AT_ONCE = 2**22
"""How many input values to differentiate through at once: 85 images of 128 x 128
pixels, 1,365 of 32 x 32."""

SAMPLE_BY_SAMPLE = (
    *(nn.Linear, nn.Flatten, nn.Identity, nn.Dropout, Standardise),
    *(nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh),
)
"""Layers in which a sample's output does not depend on the other samples."""


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


@dataclass(frozen=True)
class FactoredGradients:
    r"""The gradients of a model of linear layers, as the factors of their outer
    products. G, which would have a row of the model's size for each domain, is never
    built, and one forward and backward pass serves all domains.

    For a layer with inputs :math:`a_s` and derivatives :math:`\delta_s` by its outputs,
    the gradient of domain i is :math:`\sum_{s \in i} \delta_s a_s^T`, and the inner
    product of two is

    .. math::
        \sum_{s \in i} \sum_{r \in j} (a_s \cdot a_r) (\delta_s \cdot \delta_r)

    :param layers: each layer, and the derivatives by its outputs.
    :param domains: the domain of each sample.
    :param n_domains: number of past domains.
    """

    layers: Sequence[tuple[LinearCall, Tensor]]
    domains: Tensor
    n_domains: int

    def products(self, gradients: Gradients) -> Tensor:
        """G g, the inner products of each domain's gradient with another gradient.

        :param gradients: g.
        """
        by_sample = self.layers[0][1].new_zeros(len(self.domains))
        for call, derivatives in self.layers:
            along = product(call.inputs, gradients[call.layer.weight])
            if call.layer.bias is not None:
                along += gradients[call.layer.bias]
            by_sample += (along * derivatives).sum(dim=1)
        return self._domain_sums(by_sample)

    def gram(self) -> Tensor:
        """G G^T."""
        n = len(self.domains)
        by_pair = self.layers[0][1].new_zeros(n, n)
        for call, derivatives in self.layers:
            of_inputs = product(call.inputs, call.inputs)
            if call.layer.bias is not None:
                of_inputs += 1
            by_pair += of_inputs * product(derivatives, derivatives)
        return self._domain_sums(self._domain_sums(by_pair).T)

    def combination(self, weights: Tensor) -> Gradients:
        """G^T v.

        :param weights: v, one weight per domain.
        """
        combined = {}
        for call, derivatives in self.layers:
            weighted = weights[self.domains, None] * derivatives
            combined[call.layer.weight] = product(weighted.T, call.inputs.T)
            if call.layer.bias is not None:
                combined[call.layer.bias] = weighted.sum(dim=0)
        return combined

    def _domain_sums(self, values: Tensor) -> Tensor:
        """The sum over each domain's samples, along the first dimension."""
        sums = values.new_zeros(self.n_domains, *values.shape[1:])
        return sums.index_add(0, self.domains, values)


@dataclass(frozen=True)
class FlatGradients:
    """The gradients of any model, as the rows of a matrix. Each domain takes a forward
    and a backward pass. The methods are those of :class:`FactoredGradients`.

    :param rows: G.
    :param parameters: the parameters, in the order of its columns.
    """

    rows: Tensor
    parameters: Sequence[Tensor]

    def products(self, gradients: Gradients) -> Tensor:
        """G g."""
        return self.rows @ flat(gradients.values())

    def gram(self) -> Tensor:
        """G G^T."""
        return self.rows @ self.rows.T

    def combination(self, weights: Tensor) -> Gradients:
        """G^T v."""
        parts = unflat(weights @ self.rows, self.parameters)
        return dict(zip(self.parameters, parts, strict=True))


def factored_gradients(
    strategy: Strategy, memory: Memory, parameters: Sequence[Tensor]
) -> FactoredGradients | None:
    """The gradients on each domain's memory, in one pass over all of it.

    :param strategy: the strategy with the model and the criterion.
    :param memory: the memory, its samples in ascending order of domain.
    :param parameters: the parameters to differentiate by.
    :return: ``None`` if a parameter does not belong to a linear layer, or if a layer
        such as BatchNorm mixes the samples of different domains.
    """
    model = strategy.model
    layers = [each for each in model.modules() if not any(each.children())]
    if not all(isinstance(each, SAMPLE_BY_SAMPLE) for each in layers):
        return None
    x, *_, tasks = memory.fields
    logits, calls = linear_calls(model, lambda: forward(model, x, tasks))
    wanted = set(parameters)
    calls = [call for call in calls if call.layer.weight in wanted]
    if wanted != {each for call in calls for each in call.layer.parameters()}:
        return None

    counts = memory.counts.tolist()
    by_domain = zip(
        torch.split(logits, counts), torch.split(memory.labels, counts), strict=True
    )
    loss = torch.stack([strategy._criterion(*each) for each in by_domain]).sum()
    derivatives = torch.autograd.grad(loss, [call.outputs for call in calls])
    factors = list(zip(calls, derivatives, strict=True))
    return FactoredGradients(factors, memory.domains, memory.n_domains)


def flat_gradients(
    strategy: Strategy, memory: Memory, parameters: Sequence[Tensor], rows: Tensor
) -> FlatGradients:
    """The gradients on each domain's memory, domain by domain.

    :param strategy: the strategy with the model and the criterion.
    :param memory: the memory.
    :param parameters: the parameters to differentiate by.
    :param rows: where to write them; it becomes one row per domain.
    """
    rows.resize_(memory.n_domains, sum(each.numel() for each in parameters))
    for domain, row in enumerate(rows):
        members = torch.nonzero(memory.domains == domain).squeeze(1)
        flat(memory_gradient(strategy, memory, members, parameters), out=row)
    return FlatGradients(rows, parameters)

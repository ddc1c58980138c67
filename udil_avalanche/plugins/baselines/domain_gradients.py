"""The gradients of the loss on each past domain's memory, as GEM needs them.

Both classes represent the matrix G with one row per past domain, and compute the same
three products with it. Where the model allows it, the first one never builds G.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.plugins.baselines.linear_layers import linear_calls
from udil_avalanche.plugins.baselines.memory_gradient import (
    flat,
    memory_gradient,
    unflat,
)
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Strategy

SAMPLE_BY_SAMPLE = (
    nn.Linear,
    nn.Flatten,
    nn.Identity,
    nn.Dropout,
    nn.ReLU,
    nn.LeakyReLU,
    nn.ELU,
    nn.GELU,
    nn.SiLU,
    nn.Sigmoid,
    nn.Tanh,
    Standardise,
)
"""Layers in which a sample's output does not depend on the other samples."""


class LayerFactors(NamedTuple):
    """The factors of the gradients of a linear layer."""

    inputs: Tensor
    """a, the layer's inputs, one row per sample."""

    derivatives: Tensor
    r""":math:`\delta`, the derivatives by its outputs, one row per sample."""

    weight: int
    """Position of its weight among the parameters."""

    bias: int | None
    """Position of its bias among the parameters."""


class FactoredGradients:
    r"""The gradients of a model of linear layers, as the factors of their outer
    products. G, which would have a row of the model's size for each domain, is never
    built, and one forward and backward pass serves all domains.

    For a layer with inputs :math:`a_s` and derivatives :math:`\delta_s` by its outputs,
    the gradient of domain i is :math:`\sum_{s \in i} \delta_s a_s^T`, and the inner
    product of two is

    .. math::
        \sum_{s \in i} \sum_{r \in j} (a_s \cdot a_r) (\delta_s \cdot \delta_r)

    :param layers: the factors of each layer.
    :param domains: the domain of each sample.
    :param n_domains: number of past domains.
    """

    def __init__(
        self, layers: Sequence[LayerFactors], domains: Tensor, n_domains: int
    ) -> None:
        self._layers = layers
        self._domains = domains
        self._n_domains = n_domains

    def products(self, gradients: Sequence[Tensor]) -> Tensor:
        """G g, the inner products of each domain's gradient with another gradient.

        :param gradients: g, one tensor per parameter.
        """
        by_sample = self._layers[0].inputs.new_zeros(len(self._domains))
        for inputs, derivatives, weight, bias in self._layers:
            along = inputs @ gradients[weight].T
            if bias is not None:
                along += gradients[bias]
            by_sample += (along * derivatives).sum(dim=1)
        return self._domain_sums(by_sample)

    def gram(self) -> Tensor:
        """G G^T."""
        n = len(self._domains)
        by_pair = self._layers[0].inputs.new_zeros(n, n)
        for inputs, derivatives, _, bias in self._layers:
            of_inputs = inputs @ inputs.T
            if bias is not None:
                of_inputs += 1
            by_pair += of_inputs * (derivatives @ derivatives.T)
        return self._domain_sums(self._domain_sums(by_pair).T)

    def combination(self, weights: Tensor) -> list[Tensor]:
        """G^T v, one tensor per parameter.

        :param weights: v, one weight per domain.
        """
        combined: dict[int, Tensor] = {}
        for inputs, derivatives, weight, bias in self._layers:
            weighted = weights[self._domains, None] * derivatives
            combined[weight] = weighted.T @ inputs
            if bias is not None:
                combined[bias] = weighted.sum(dim=0)
        return [combined[i] for i in sorted(combined)]

    def _domain_sums(self, values: Tensor) -> Tensor:
        """The sum over each domain's samples, along the first dimension."""
        sums = values.new_zeros(self._n_domains, *values.shape[1:])
        return sums.index_add(0, self._domains, values)


class FlatGradients:
    """The gradients of any model, as the rows of a matrix. Each domain takes a forward
    and a backward pass. The methods are those of :class:`FactoredGradients`.

    :param rows: G.
    :param parameters: the parameters, in the order of its columns.
    """

    def __init__(self, rows: Tensor, parameters: Sequence[Tensor]) -> None:
        self._rows = rows
        self._parameters = parameters

    def products(self, gradients: Sequence[Tensor]) -> Tensor:
        """G g."""
        return self._rows @ flat(gradients)

    def gram(self) -> Tensor:
        """G G^T."""
        return self._rows @ self._rows.T

    def combination(self, weights: Tensor) -> list[Tensor]:
        """G^T v, one tensor per parameter."""
        return unflat(weights @ self._rows, self._parameters)


def factored_gradients(
    strategy: Strategy, memory: Memory, parameters: Sequence[nn.Parameter]
) -> FactoredGradients | None:
    """The gradients on each domain's memory, in one pass over all of it.

    :param strategy: the strategy with the model and the criterion.
    :param memory: the memory, its samples in ascending order of domain.
    :param parameters: the parameters to differentiate by.
    :return: ``None`` if a parameter does not belong to a linear layer, or if a layer
        such as BatchNorm mixes the samples of different domains.
    """
    layers = [each for each in strategy.model.modules() if not any(each.children())]
    if not all(isinstance(each, SAMPLE_BY_SAMPLE) for each in layers):
        return None
    x, *_, tasks = memory.fields
    model = strategy.model
    logits, calls = linear_calls(model, lambda: forward(model, x, tasks))
    position = {id(parameter): i for i, parameter in enumerate(parameters)}
    calls = [call for call in calls if id(call.layer.weight) in position]
    n_covered = sum(len(list(call.layer.parameters())) for call in calls)
    if n_covered != len(parameters):
        return None

    counts = memory.counts.tolist()
    by_domain = zip(
        torch.split(logits, counts), torch.split(memory.labels, counts), strict=True
    )
    loss = torch.stack([strategy._criterion(*each) for each in by_domain]).sum()
    derivatives = torch.autograd.grad(loss, [call.outputs for call in calls])
    factors = [
        LayerFactors(
            call.inputs,
            derivative,
            position[id(call.layer.weight)],
            position.get(id(call.layer.bias)),
        )
        for call, derivative in zip(calls, derivatives, strict=True)
    ]
    return FactoredGradients(factors, memory.domains, memory.n_domains)


def flat_gradients(
    strategy: Strategy,
    memory: Memory,
    parameters: Sequence[nn.Parameter],
    rows: Tensor,
) -> FlatGradients:
    """The gradients on each domain's memory, domain by domain.

    :param strategy: the strategy with the model and the criterion.
    :param memory: the memory.
    :param parameters: the parameters to differentiate by.
    :param rows: where to write them, one row per domain.
    """
    for domain, row in enumerate(rows):
        members = torch.nonzero(memory.domains == domain).squeeze(1)
        flat(memory_gradient(strategy, memory, members, parameters), out=row)
    return FlatGradients(rows, parameters)

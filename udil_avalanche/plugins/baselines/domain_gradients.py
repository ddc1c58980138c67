"""The gradients of the loss on each past domain's memory, as GEM needs them."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from avalanche.models import avalanche_forward
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory
from udil_avalanche.plugins.baselines.linear_layers import linear_calls
from udil_avalanche.plugins.baselines.memory_gradient import flat, memory_gradient

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
)
"""Layers in which no sample has a say in the output of another."""


class DomainGradients(Protocol):
    """G, one gradient per past domain, seen only through what is done with it."""

    def products(self, gradients: Sequence[Tensor]) -> Tensor:
        """G g, the inner product of each domain's gradient with another one.

        :param gradients: g, one tensor per parameter.
        """

    def gram(self) -> Tensor:
        """G G^T."""

    def combination(self, weights: Tensor) -> list[Tensor]:
        """G^T v, one tensor per parameter.

        :param weights: v, one weight per domain.
        """


class FactoredGradients:
    """The gradients of a model of linear layers, as the factors of their outer
    products: G, which has as many values for each domain as the model has parameters,
    is never made, and one forward and backward pass serves all domains.

    For a layer with inputs :math:`a_s` and derivatives :math:`\\delta_s` by its
    outputs, the gradient of domain i is :math:`\\sum_{s \\in i} \\delta_s a_s^T`, and
    the inner product of two is

    .. math::
        \\sum_{s \\in i} \\sum_{r \\in j} (a_s \\cdot a_r) (\\delta_s \\cdot \\delta_r)

    :param factors: inputs and derivatives of each layer with its parameters' positions
        in g: that of its weight, and that of its bias or ``None``.
    :param domains: the domain of each sample.
    :param n_domains: number of past domains.
    """

    def __init__(
        self,
        factors: Sequence[tuple[Tensor, Tensor, int, int | None]],
        domains: Tensor,
        n_domains: int,
    ) -> None:
        self._factors = factors
        self._domains = domains
        self._n_domains = n_domains

    def products(self, gradients: Sequence[Tensor]) -> Tensor:
        """G g; see :class:`DomainGradients`."""
        by_sample = torch.zeros_like(self._factors[0][0][:, 0])
        for inputs, derivatives, weight, bias in self._factors:
            along = inputs @ gradients[weight].T
            if bias is not None:
                along += gradients[bias]
            by_sample += (along * derivatives).sum(dim=1)
        return self._sums(by_sample)

    def gram(self) -> Tensor:
        """G G^T; see :class:`DomainGradients`."""
        n = len(self._domains)
        by_pair = self._factors[0][0].new_zeros(n, n)
        for inputs, derivatives, _, bias in self._factors:
            of_inputs = inputs @ inputs.T
            if bias is not None:
                of_inputs += 1
            by_pair += of_inputs * (derivatives @ derivatives.T)
        return self._sums(self._sums(by_pair).T)

    def combination(self, weights: Tensor) -> list[Tensor]:
        """G^T v; see :class:`DomainGradients`."""
        combined: dict[int, Tensor] = {}
        of_sample = weights[self._domains, None]
        for inputs, derivatives, weight, bias in self._factors:
            weighted = of_sample * derivatives
            combined[weight] = weighted.T @ inputs
            if bias is not None:
                combined[bias] = weighted.sum(dim=0)
        return [combined[i] for i in sorted(combined)]

    def _sums(self, values: Tensor) -> Tensor:
        """The sum over each domain's samples, along the first dimension."""
        sums = values.new_zeros(self._n_domains, *values.shape[1:])
        return sums.index_add(0, self._domains, values)


class FlatGradients:
    """The gradients of any model, as the rows of a matrix. It takes a forward and a
    backward pass for each domain.

    :param rows: G.
    :param parameters: the parameters, in the order of its columns.
    """

    def __init__(self, rows: Tensor, parameters: Sequence[Tensor]) -> None:
        self.rows = rows
        self._parameters = parameters

    def products(self, gradients: Sequence[Tensor]) -> Tensor:
        """G g; see :class:`DomainGradients`."""
        return self.rows @ flat(gradients)

    def gram(self) -> Tensor:
        """G G^T; see :class:`DomainGradients`."""
        return self.rows @ self.rows.T

    def combination(self, weights: Tensor) -> list[Tensor]:
        """G^T v; see :class:`DomainGradients`."""
        sizes = [each.numel() for each in self._parameters]
        parts = (weights @ self.rows).split(sizes)
        pairs = zip(parts, self._parameters, strict=True)
        return [part.view_as(parameter) for part, parameter in pairs]


def factored_gradients(
    strategy: Any, memory: Memory, parameters: Sequence[nn.Parameter]
) -> FactoredGradients | None:
    """The gradients on each domain's memory in one pass over all of it.

    :param strategy: the strategy, whose model and criterion count.
    :param memory: the memory, its samples in ascending order of domain.
    :param parameters: what to differentiate by.
    :return: ``None`` if a parameter is no linear layer's, or a layer such as BatchNorm
        lets the domains mix.
    """
    model = strategy.model
    layers = [each for each in model.modules() if not any(each.children())]
    if not all(isinstance(each, SAMPLE_BY_SAMPLE) for each in layers):
        return None

    def forward() -> Tensor:
        return avalanche_forward(model, memory.fields[0], memory.fields[-1])

    logits, calls = linear_calls(model, forward)
    position = {id(parameter): i for i, parameter in enumerate(parameters)}
    reached = [
        (call, position[id(call.layer.weight)], position.get(id(call.layer.bias)))
        for call in calls
        if id(call.layer.weight) in position
    ]
    covered = sum(1 if bias is None else 2 for _, _, bias in reached)
    if covered != len(parameters):
        return None

    counts = memory.counts.tolist()
    by_domain = zip(logits.split(counts), memory.labels.split(counts), strict=True)
    loss = torch.stack([strategy._criterion(*each) for each in by_domain]).sum()
    derivatives = torch.autograd.grad(loss, [call.outputs for call, _, _ in reached])
    factors = [
        (call.inputs, derivative, weight, bias)
        for (call, weight, bias), derivative in zip(reached, derivatives, strict=True)
    ]
    return FactoredGradients(factors, memory.domains, memory.n_domains)


def flat_gradients(
    strategy: Any,
    memory: Memory,
    parameters: Sequence[nn.Parameter],
    rows: Tensor,
) -> FlatGradients:
    """The gradients on each domain's memory, domain by domain.

    :param strategy: the strategy, whose model and criterion count.
    :param memory: the memory.
    :param parameters: what to differentiate by.
    :param rows: room for them, one row per domain.
    """
    for domain, row in enumerate(rows):
        members = torch.nonzero(memory.domains == domain).squeeze(1)
        memory_gradient(strategy, memory, members, parameters, out=row)
    return FlatGradients(rows, parameters)


__all__ = [
    "DomainGradients",
    "FactoredGradients",
    "FlatGradients",
    "factored_gradients",
    "flat_gradients",
]

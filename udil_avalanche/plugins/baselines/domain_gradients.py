"""The gradients of the loss on each past domain's memory, as GEM needs them.

Both classes represent the matrix G with one row per past domain, and compute the same
three products with it. Where the model allows it, the first one never builds G.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from udil_avalanche.memory.base import Memory
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.plugins.baselines.linear_layers import LinearCall, linear_calls
from udil_avalanche.plugins.baselines.memory_gradient import (
    Gradients,
    flat,
    memory_gradient,
    unflat,
)
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Strategy

SAMPLE_BY_SAMPLE = (
    *(nn.Linear, nn.Flatten, nn.Identity, nn.Dropout, Standardise),
    *(nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh),
)
"""Layers in which a sample's output does not depend on the other samples."""


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
            along = call.inputs @ gradients[call.layer.weight].T
            if call.layer.bias is not None:
                along += gradients[call.layer.bias]
            by_sample += (along * derivatives).sum(dim=1)
        return self._domain_sums(by_sample)

    def gram(self) -> Tensor:
        """G G^T."""
        n = len(self.domains)
        by_pair = self.layers[0][1].new_zeros(n, n)
        for call, derivatives in self.layers:
            of_inputs = call.inputs @ call.inputs.T
            if call.layer.bias is not None:
                of_inputs += 1
            by_pair += of_inputs * (derivatives @ derivatives.T)
        return self._domain_sums(self._domain_sums(by_pair).T)

    def combination(self, weights: Tensor) -> Gradients:
        """G^T v.

        :param weights: v, one weight per domain.
        """
        combined = {}
        for call, derivatives in self.layers:
            weighted = weights[self.domains, None] * derivatives
            combined[call.layer.weight] = weighted.T @ call.inputs
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

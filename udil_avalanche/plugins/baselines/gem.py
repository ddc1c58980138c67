"""Gradient Episodic Memory."""

from typing import Any

import numpy as np
import quadprog
import torch
from torch import Tensor, nn

from udil_avalanche.plugins.baselines.domain_gradients import (
    DomainGradients,
    factored_gradients,
    flat_gradients,
)
from udil_avalanche.plugins.baselines.memory_gradient import parameters_and_gradients
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin

RIDGE = 1e-6
"""The least eigenvalue of the quadratic program's matrix, which is one of cosines: it
makes the program solvable when gradients of past domains are almost parallel."""

NIL = 1e-15
"""A gradient no longer than this is none: the squares of its values underflow, and what
is left of its inner products would say anything about its direction."""


class GEMPlugin(MemoryPlugin):
    """Gradient Episodic Memory (Lopez-Paz and Ranzato, NeurIPS 2017,
    https://arxiv.org/abs/1706.08840).

    No step may raise the loss on the memory of any past domain, to first order: the
    gradient g is replaced by the nearest one that has no negative inner product with
    the gradient of any past domain, see :func:`gem_weights`. The memory is not
    learned from; it only constrains.

    Deviations from the paper:

    1. The memory is UDIL's, \\|M\\| samples shared out between the past domains and
       chosen at random, instead of the last few samples of every domain in a memory
       that is shared out between all domains from the beginning.
    2. The quadratic program is solved for gradients of length 1, which changes neither
       its solution nor the meaning of the margin, so that the ridge that makes it
       solvable is small beside every constraint.
    3. A past domain whose memory is learned so well that its gradient is nil does not
       constrain the step: no step raises its loss to first order.

    :param mem_size: \\|M\\|, samples over all domains.
    :param margin: gamma of the paper, the least weight of every past domain's gradient
        in a projected step; above 0 it favours backward transfer.
    :param class_balanced: share a domain's quota out evenly between its classes.
    """

    def __init__(
        self, mem_size: int = 400, *, margin: float = 0.5, class_balanced: bool = False
    ) -> None:
        super().__init__(mem_size, class_balanced)
        if margin < 0:
            raise ValueError(f"margin must not be negative, but it is {margin}.")
        self.margin = margin
        self.terms: dict[str, Tensor] = {}
        """The share of past domains whose loss the step would have raised."""
        self._references = torch.zeros(0)

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Project the gradient."""
        if len(self.memory) == 0:
            return
        parameters, gradients = parameters_and_gradients(strategy.model)
        past = self._past_gradients(strategy, parameters)
        products = past.products(gradients)

        violated = products < 0
        self.terms = {"violated": violated.float().mean()}
        if violated.any():
            weights = gem_weights(past.gram(), products, self.margin)
            torch._foreach_add_(gradients, past.combination(weights))

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the domain that was learned into the memory."""
        super().after_training_exp(strategy, **kwargs)
        self._references = torch.zeros(0)

    def _past_gradients(
        self, strategy: Any, parameters: list[nn.Parameter]
    ) -> DomainGradients:
        factored = factored_gradients(strategy, self.memory, parameters)
        if factored is not None:
            return factored
        # The room is kept while a domain is learned: new room in every step would make
        # it almost twice as long.
        n_values = sum(each.numel() for each in parameters)
        shape = (self.memory.n_domains, n_values)
        if self._references.shape != shape:
            self._references = parameters[0].new_empty(shape)
        return flat_gradients(strategy, self.memory, parameters, self._references)


def gem_weights(gram: Tensor, products: Tensor, margin: float = 0.0) -> Tensor:
    """v, with which g + G^T v is the vector nearest to g that has no negative inner
    product with any of G's rows. It solves the dual of that problem, to minimise
    :math:`\\frac12 v^T G G^T v + g^T G^T v` subject to v >= gamma.

    At gamma = 0 it is the nearest; a margin leads farther into the cone.

    :param gram: G G^T, of the gradients of the past domains.
    :param products: G g, with the gradient of the current mini-batch.
    :param margin: gamma.
    """
    matrix = gram.double().cpu().numpy()
    lengths = np.sqrt(matrix.diagonal().clip(min=0))
    there = lengths > NIL
    weights = np.full(len(lengths), margin)
    if there.any():
        lengths = lengths[there]
        cosines = matrix[np.ix_(there, there)] / np.outer(lengths, lengths)
        # Rounding may leave the matrix asymmetric and give it negative eigenvalues.
        cosines = (cosines + cosines.T) / 2
        ridge = max(0.0, RIDGE - np.linalg.eigvalsh(cosines)[0])
        identity = np.eye(len(lengths))
        solution = quadprog.solve_qp(
            cosines + ridge * identity,
            -products.double().cpu().numpy()[there] / lengths,
            identity,
            margin * lengths,
        )[0]
        weights[there] = solution / lengths
    return torch.as_tensor(weights).to(gram)


__all__ = ["GEMPlugin", "gem_weights"]

"""Gradient Episodic Memory."""

from typing import Any

import numpy as np
import quadprog
import torch
from torch import Tensor

from udil_avalanche.plugins.baselines.memory_gradient import (
    factored_gradients,
    flat_gradients,
    reached_gradients,
)
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin
from udil_avalanche.plugins.shared.plugin import Strategy

RIDGE = 1e-6
"""The smallest eigenvalue of the quadratic program's matrix of cosines: it makes the
program solvable when gradients of past domains are almost parallel."""

NIL = 1e-15
"""A gradient no longer than this counts as zero: the squares of its values underflow,
and its remaining inner products say nothing about its direction."""


class GEMPlugin(MemoryPlugin):
    r"""Gradient Episodic Memory (Lopez-Paz and Ranzato, NeurIPS 2017,
    https://arxiv.org/abs/1706.08840).

    No step may raise the loss on the memory of any past domain, to first order: the
    gradient g is replaced by the nearest one that has no negative inner product with
    the gradient of any past domain, see :func:`gem_weights`. The model does not learn
    from the memory; the memory only constrains its steps.

    Deviations from the paper:

    1. The memory is UDIL's, \|M\| samples divided between the past domains and
       chosen at random, instead of the last few samples of every domain in a memory
       that is divided between all domains from the beginning.
    2. The quadratic program is solved for gradients of length 1, which changes neither
       its solution nor the meaning of the margin, so that the ridge that makes it
       solvable is small compared with every constraint.
    3. A past domain whose memory is learned so well that its gradient is zero does not
       constrain the step: no step raises its loss to first order.

    :param mem_size: \|M\|, samples over all domains.
    :param margin: gamma of the paper, the smallest weight of a past domain's gradient
        in a projected step; above 0 it favours backward transfer.
    :param stratified: keep a domain's class frequencies in its part of the memory.
    """

    def __init__(
        self, mem_size: int = 400, *, margin: float = 0.5, stratified: bool = False
    ) -> None:
        super().__init__(mem_size, stratified)
        if margin < 0:
            raise ValueError(f"margin must not be negative, but it is {margin}.")
        self.margin = margin
        self._rows = torch.zeros(0)

    def after_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Project the gradient."""
        if len(self.memory) == 0:
            return
        gradients = reached_gradients(strategy.model)
        parameters = list(gradients)
        # New rows in every step would almost double its time.
        self._rows = self._rows.to(parameters[0])
        past = factored_gradients(strategy, self.memory, parameters) or flat_gradients(
            strategy, self.memory, parameters, self._rows
        )
        products = past.products(gradients)

        violated = products < 0
        self.terms = {"violated": violated.float().mean()}
        if violated.any():
            weights = gem_weights(past.gram(), products, self.margin)
            for parameter, change in past.combination(weights).items():
                gradients[parameter] += change

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Store samples of the domain that was learned, and free the rows."""
        super().after_training_exp(strategy, **kwargs)
        self._rows = torch.zeros(0)


def gem_weights(gram: Tensor, products: Tensor, margin: float = 0.0) -> Tensor:
    r"""The weights v for which g + G^T v is the vector nearest to g that has no
    negative inner product with any of G's rows. They solve the dual problem: minimise
    :math:`\frac12 v^T G G^T v + g^T G^T v` subject to v >= gamma.

    With gamma = 0 this is the nearest vector; a margin moves it farther into the cone.

    :param gram: G G^T, of the gradients of the past domains.
    :param products: G g, with the gradient of the current mini-batch.
    :param margin: gamma.
    """
    matrix = gram.double().cpu().numpy()
    lengths = np.sqrt(matrix.diagonal().clip(min=0))
    active = lengths > NIL
    weights = np.full(len(lengths), margin)
    if active.any():
        lengths = lengths[active]
        cosines = matrix[np.ix_(active, active)] / np.outer(lengths, lengths)
        # Rounding may leave the matrix asymmetric and give it negative eigenvalues.
        cosines = (cosines + cosines.T) / 2
        ridge = max(0.0, RIDGE - np.linalg.eigvalsh(cosines)[0])
        identity = np.eye(len(lengths))
        solution = quadprog.solve_qp(
            cosines + ridge * identity,
            -products.double().cpu().numpy()[active] / lengths,
            identity,
            margin * lengths,
        )[0]
        weights[active] = solution / lengths
    return torch.as_tensor(weights).to(gram)

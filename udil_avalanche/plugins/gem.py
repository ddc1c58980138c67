"""Gradient Episodic Memory."""

from typing import Any

import numpy as np
import quadprog
import torch
from torch import Tensor

from udil_avalanche.plugins.memory_gradient import (
    flat,
    memory_gradient,
    parameters_and_gradients,
    set_flat,
)
from udil_avalanche.plugins.memory_plugin import MemoryPlugin

RIDGE = 1e-6
"""The least eigenvalue of the quadratic program's matrix, which is one of cosines: it
makes the program solvable when gradients of past domains are almost parallel."""


class GEMPlugin(MemoryPlugin):
    """Gradient Episodic Memory (Lopez-Paz and Ranzato, NeurIPS 2017,
    https://arxiv.org/abs/1706.08840).

    No step may raise the loss on the memory of any past domain, to first order: the
    gradient g is replaced by the nearest one that has no negative inner product with
    the gradient of any past domain, see :func:`gem_projection`. The memory is not
    learned from; it only constrains.

    Deviations from the paper:

    1. The memory is UDIL's, \\|M\\| samples shared out between the past domains and
       chosen at random, instead of the last few samples of every domain in a memory
       that is shared out between all domains from the beginning.
    2. The quadratic program is solved for gradients of length 1, which changes neither
       its solution nor the meaning of the margin, so that the ridge that makes it
       solvable is small beside every constraint.

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
        gradient = flat(gradients)
        references = self._room_for_references(gradient)
        # One small backward pass for each domain: vmap over them takes longer, and a
        # batched backward pass of the whole memory repeats it for each domain.
        for domain, row in enumerate(references):
            members = torch.nonzero(self.memory.domains == domain).squeeze(1)
            memory_gradient(strategy, self.memory, members, parameters, out=row)

        violated = references @ gradient < 0
        self.terms = {"violated": violated.float().mean()}
        if violated.any():
            projected = gem_projection(gradient, references, self.margin)
            set_flat(gradients, projected)

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the domain that was learned into the memory."""
        super().after_training_exp(strategy, **kwargs)
        self._references = torch.zeros(0)

    def _room_for_references(self, gradient: Tensor) -> Tensor:
        """One row per past domain, kept while a domain is learned: new room in every
        step would make it almost twice as long."""
        shape = (self.memory.n_domains, len(gradient))
        if self._references.shape != shape:
            self._references = gradient.new_empty(shape)
        return self._references


def gem_projection(gradient: Tensor, references: Tensor, margin: float = 0.0) -> Tensor:
    """The vector nearest to g that has no negative inner product with any of G's rows:
    g + G^T v, where v solves the dual of that problem, to minimise
    :math:`\\frac12 v^T G G^T v + g^T G^T v` subject to v >= gamma.

    At gamma = 0 it is the nearest; a margin leads farther into the cone.

    :param gradient: g, the gradient of the current mini-batch.
    :param references: G, the gradient of one past domain a row.
    :param margin: gamma.
    """
    gram = (references @ references.T).double().cpu().numpy()
    products = (references @ gradient).double().cpu().numpy()
    lengths = np.sqrt(gram.diagonal()).clip(min=np.finfo(np.float32).tiny)
    cosines = gram / np.outer(lengths, lengths)
    # Rounding may leave the matrix asymmetric and give it negative eigenvalues.
    cosines = (cosines + cosines.T) / 2
    ridge = max(0.0, RIDGE - np.linalg.eigvalsh(cosines)[0])
    identity = np.eye(len(lengths))
    weights = quadprog.solve_qp(
        cosines + ridge * identity, -products / lengths, identity, margin * lengths
    )[0]
    v = torch.as_tensor(weights / lengths).to(references)
    return gradient + v @ references


__all__ = ["GEMPlugin", "gem_projection"]

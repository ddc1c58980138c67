"""Averaged Gradient Episodic Memory."""

from typing import Any

import torch
from torch import Tensor

from udil_avalanche.plugins.baselines.memory_gradient import (
    flat,
    memory_gradient,
    reached_gradients,
    unflat,
)
from udil_avalanche.plugins.shared.checks import positive
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


class AGEMPlugin(MemoryPlugin):
    r"""Averaged Gradient Episodic Memory (Chaudhry et al., ICLR 2019,
    https://arxiv.org/abs/1812.00420).

    GEM with a single constraint: no step may raise the average loss on a random draw
    from the whole memory, with a new draw for every step.

    Deviations from the paper:

    1. The memory is UDIL's, \|M\| samples divided between the past domains and chosen
       at random, instead of a fixed number for every domain.
    2. Each draw is balanced over the past domains instead of uniform over the memory,
       which only reduces the noise, as the memory is balanced.

    :param mem_size: \|M\|, samples over all domains.
    :param sample_size: memory samples in each step's draw.
    :param stratified: keep a domain's class frequencies in its part of the memory.
    """

    def __init__(
        self,
        mem_size: int = 400,
        *,
        sample_size: int = 128,
        stratified: bool = False,
    ) -> None:
        super().__init__(mem_size, stratified)
        self.sample_size = positive("sample_size", sample_size)

    def after_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Project the gradient."""
        if len(self.memory) == 0:
            return
        gradients = reached_gradients(strategy.model)
        parts = list(gradients.values())
        gradient = flat(parts)
        positions = self.memory.sample(self.sample_size)
        reference = flat(
            memory_gradient(strategy, self.memory, positions, list(gradients))
        )

        violated = gradient @ reference < 0
        self.terms = {"violated": violated.float()}
        if violated:
            projected = unflat(agem_projection(gradient, reference), parts)
            torch._foreach_copy_(parts, projected)


def agem_projection(gradient: Tensor, reference: Tensor) -> Tensor:
    """g without its component along g_ref.

    :param gradient: g, the gradient of the current mini-batch.
    :param reference: g_ref, that of the draw from the memory.
    """
    return gradient - (gradient @ reference) / (reference @ reference) * reference

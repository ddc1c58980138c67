"""Averaged Gradient Episodic Memory."""

from typing import Any

from torch import Tensor

from udil_avalanche.plugins.baselines.memory_gradient import (
    flat,
    memory_gradient,
    parameters_and_gradients,
    set_flat,
)
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin


class AGEMPlugin(MemoryPlugin):
    """Averaged Gradient Episodic Memory (Chaudhry et al., ICLR 2019,
    https://arxiv.org/abs/1812.00420).

    GEM with a single constraint: no step may raise the average loss on a random draw
    from the whole memory, which is made anew for every step.

    Deviations from the paper:

    1. The memory is UDIL's, \\|M\\| samples shared out between the past domains and
       chosen at random, instead of a fixed number of every domain.
    2. Each draw is balanced over the past domains instead of uniform over the memory,
       which is the same but for less noise, as the memory is balanced.

    :param mem_size: \\|M\\|, samples over all domains.
    :param sample_size: memory samples behind the reference gradient of each step.
    :param class_balanced: share a domain's quota out evenly between its classes.
    """

    def __init__(
        self,
        mem_size: int = 400,
        *,
        sample_size: int = 128,
        class_balanced: bool = False,
    ) -> None:
        super().__init__(mem_size, class_balanced)
        if sample_size < 1:
            raise ValueError(f"sample_size must be positive, but it is {sample_size}.")
        self.sample_size = sample_size
        self.terms: dict[str, Tensor] = {}
        """Whether the step would have raised the loss on the draw."""

    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Project the gradient."""
        if len(self.memory) == 0:
            return
        parameters, gradients = parameters_and_gradients(strategy.model)
        gradient = flat(gradients)
        positions = self.memory.sample(self.sample_size)
        reference = memory_gradient(strategy, self.memory, positions, parameters)

        violated = gradient @ reference < 0
        self.terms = {"violated": violated.float()}
        if violated:
            set_flat(gradients, agem_projection(gradient, reference))


def agem_projection(gradient: Tensor, reference: Tensor) -> Tensor:
    """g without its part along g_ref.

    :param gradient: g, the gradient of the current mini-batch.
    :param reference: g_ref, that of the draw from the memory.
    """
    return gradient - (gradient @ reference) / (reference @ reference) * reference


__all__ = ["AGEMPlugin", "agem_projection"]

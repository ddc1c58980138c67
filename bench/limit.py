"""The time that the matrix products of a step need at least."""

import time
from collections.abc import Sequence
from itertools import pairwise

import torch

from udil_avalanche.models.linear import product

MODEL = (784, 800, 800, 10)
"""Widths of the layers of h for MNIST."""

ENCODER_LAYERS = 2
DISCRIMINATOR_HIDDEN = (800, 800)


def udil_flops(n_current: int, n_memory: int, n_domains: int) -> int:
    """The floating-point operations of the matrix products that the mathematics of one
    step of UDIL needs in domain t = ``n_domains``:

    1. h on current samples and memory, forward and backward. The inputs need no
       gradient, so the first layer has one product less.
    2. H_{t-1} on the current samples, forward. Its outputs on the memory are known.
    3. The discriminator on all embeddings, forward and backward, down to the
       embeddings, which pass its gradient on to the encoder.
    4. The inner products between all embeddings for V_s, and one product for their
       gradient.

    Everything else, such as optimizers, activations and losses, is not counted.

    :param n_current: samples of the current domain in the step.
    :param n_memory: samples of the memory in the step.
    :param n_domains: t.
    """
    rows = n_current + n_memory
    embedding = MODEL[ENCODER_LAYERS]
    discriminator = (embedding, *DISCRIMINATOR_HIDDEN, n_domains)

    h = 3 * network_flops(MODEL, rows) - network_flops(MODEL[:2], rows)
    history = network_flops(MODEL, n_current)
    d = 3 * network_flops(discriminator, rows)
    supcon = 2 * product_flops(rows, embedding, rows)
    return h + history + d + supcon


def network_flops(widths: Sequence[int], rows: int) -> int:
    """The products of a perceptron's forward pass. Its backward pass has twice as many:
    one for the weights and one for the inputs of each layer.

    :param widths: of its layers, from input to output.
    :param rows: number of samples.
    """
    return sum(product_flops(rows, a, b) for a, b in pairwise(widths))


def product_flops(n: int, k: int, m: int) -> int:
    """The operations of an n x k matrix times a k x m matrix: a multiplication and an
    addition for each of n * k * m."""
    return 2 * n * k * m


class MatmulRate:
    """Measures how fast this machine multiplies matrices of the step's shapes.

    :param rows: samples of a step.
    """

    def __init__(self, rows: int) -> None:
        self.x = torch.rand(rows, MODEL[1])
        self.weight = torch.rand(MODEL[2], MODEL[1])
        self.flops = product_flops(rows, MODEL[1], MODEL[2])

    def __call__(self) -> float:
        """Operations per second, in one product."""
        begin = time.perf_counter()
        product(self.x, self.weight)
        return self.flops / (time.perf_counter() - begin)


__all__ = ["MatmulRate", "network_flops", "product_flops", "udil_flops"]

"""Random values that the bound is evaluated on."""

from collections.abc import Callable

import pytest
import torch

from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import Omega, softmax_coefficients


@pytest.fixture
def random_estimates() -> Callable[[int], BoundEstimates]:
    def make(n_past: int) -> BoundEstimates:
        return BoundEstimates(
            current_error=torch.rand(()),
            past_error=torch.rand(n_past),
            current_disagreement=torch.rand(()),
            past_disagreement=torch.rand(n_past),
            divergence=2 * torch.rand(n_past),
            history_error=torch.rand(n_past),
            n_current=1000,
            n_memory=torch.randint(10, 50, (n_past,)),
        )

    return make


@pytest.fixture
def random_omega() -> Callable[..., Omega]:
    def make(n_past: int, scale: float = 1.0) -> Omega:
        return softmax_coefficients(scale * torch.randn(n_past, 3))

    return make

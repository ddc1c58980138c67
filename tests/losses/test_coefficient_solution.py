"""Omega as the solution of V_0-1 with a penalty."""

import pytest
import torch

from udil_avalanche.losses import coefficient_loss, coefficient_solution
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import Omega, softmax_coefficients


def estimates(n_past: int, **given: torch.Tensor) -> BoundEstimates:
    values = {
        "past_error": 0.2 * torch.rand(n_past),
        "past_disagreement": 0.2 * torch.rand(n_past),
        "divergence": 2 * torch.rand(n_past),
        "history_error": 0.2 * torch.rand(n_past),
    }
    return BoundEstimates(
        current_error=torch.tensor(0.1),
        current_disagreement=torch.tensor(0.1),
        n_current=3000,
        n_memory=torch.full((n_past,), 400 // n_past),
        **(values | given),
    )


def penalised(logits: torch.Tensor, given: BoundEstimates, tau: float) -> torch.Tensor:
    omega = softmax_coefficients(logits)
    values = torch.stack(omega, dim=1)
    divergence = (values * (3 * values).log()).sum()
    return coefficient_loss(omega, given, 10.0) + tau * divergence


@pytest.mark.parametrize("n_past", [1, 4, 19])
def test_it_is_the_minimum_that_gradient_descent_finds(n_past: int) -> None:
    torch.manual_seed(n_past)
    given = estimates(n_past)
    logits = torch.zeros(n_past, 3, requires_grad=True)
    descent = torch.optim.Adam([logits], lr=0.02)
    for _ in range(3000):
        descent.zero_grad()
        torch.autograd.backward(penalised(logits, given, 0.1))
        descent.step()
    found = coefficient_solution(given, 10.0, tau=0.1)
    torch.testing.assert_close(
        found.softmax(dim=1), logits.detach().softmax(dim=1), atol=2e-3, rtol=0
    )


def test_beta_answers_to_the_divergence() -> None:
    given = estimates(
        3,
        divergence=torch.tensor([0.0, 1.0, 2.0]),
        past_error=torch.zeros(3),
        past_disagreement=torch.zeros(3),
        history_error=torch.zeros(3),
    )
    beta = coefficient_solution(given, 10.0).softmax(dim=1)[:, 1]
    assert beta[0] > 0.5 > 0.2 > beta[1] > beta[2]
    assert beta[2] < 0.01


def test_a_start_near_the_solution_needs_few_rounds() -> None:
    torch.manual_seed(0)
    given = estimates(5)
    solution = coefficient_solution(given, 10.0, steps=500)
    again = coefficient_solution(given, 10.0, start=solution, steps=1)
    torch.testing.assert_close(again, solution, atol=1e-4, rtol=1e-4)
    assert isinstance(softmax_coefficients(again), Omega)

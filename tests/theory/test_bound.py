"""Theorem 3.4 against a slow version of it, and the coefficients."""

import math
from typing import Any

import pytest
import torch

from udil_avalanche.losses.coefficient_loss import (
    coefficient_gradient,
    coefficient_loss,
)
from udil_avalanche.plugins.udil.omega import AdaptiveOmega
from udil_avalanche.theory.bound import BoundEstimates, unified_bound, vc_constant
from udil_avalanche.theory.coefficients import Omega
from udil_avalanche.theory.tightest_bound import tightest_bound

N_PAST = 4


def slow_bound(omega: Omega, e: BoundEstimates, c: float) -> float:
    total = float(e.current_error)
    sum_beta = sum(float(b) for b in omega.beta)
    total += sum_beta * float(e.current_disagreement)
    under_root = (1 + sum_beta) ** 2 / e.n_current
    for i in range(len(omega.alpha)):
        alpha, beta, gamma = (float(each[i]) for each in omega)
        total += gamma * float(e.past_error[i])
        total += alpha * float(e.past_disagreement[i])
        total += beta * float(e.divergence[i]) / 2
        total += (alpha + beta) * float(e.history_error[i])
        under_root += (gamma + alpha) ** 2 / float(e.n_memory[i])
    return total + c * math.sqrt(under_root)


@pytest.mark.parametrize("seed", range(5))
def test_unified_bound(seed: int, random_estimates: Any, random_omega: Any) -> None:
    torch.manual_seed(seed)
    omega, estimates = random_omega(N_PAST), random_estimates(N_PAST)
    expected = slow_bound(omega, estimates, 3.0)
    assert unified_bound(omega, estimates, 3.0).item() == pytest.approx(expected)
    without_current = expected - float(estimates.current_error)
    assert coefficient_loss(omega, estimates, 3.0).item() == pytest.approx(
        without_current
    )


@pytest.mark.parametrize("seed", range(5))
def test_coefficient_gradient_is_what_differentiation_gives(
    seed: int, random_estimates: Any, random_omega: Any
) -> None:
    torch.manual_seed(seed)
    estimates = random_estimates(N_PAST)
    omega = Omega(*(each.clone().requires_grad_() for each in random_omega(N_PAST)))
    slow = torch.autograd.grad(coefficient_loss(omega, estimates, 3.0), omega)
    written_down = coefficient_gradient(omega, estimates, 3.0)
    for expected, found in zip(slow, written_down, strict=True):
        torch.testing.assert_close(found, expected)


def test_vc_constant_turns_the_generalisation_term_into_the_theorems() -> None:
    d, n, delta = 10, 2000, 0.05
    inside = 8 * d * math.log(2 * math.e * n / d) + 8 * math.log(2 / delta)
    assert vc_constant(d, n, delta) == pytest.approx(math.sqrt(inside))


def test_omega_starts_at_a_third_in_every_domain(random_estimates: Any) -> None:
    coefficients = AdaptiveOmega(lr=0.1)
    for n_past in (1, 2, 3):
        coefficients.start_domain(n_past)
        for values in coefficients.values:
            torch.testing.assert_close(values, torch.full((n_past,), 1 / 3))
        coefficients.step(random_estimates(n_past), c=1.0)


def test_omega_stays_on_the_simplex_and_follows_the_gradient_of_the_slow_bound(
    random_estimates: Any,
) -> None:
    torch.manual_seed(0)
    coefficients, estimates = AdaptiveOmega(lr=1e-3), random_estimates(N_PAST)
    coefficients.start_domain(N_PAST)
    expected = slow_bound(coefficients.values, estimates, 2.0)
    value = coefficients.step(estimates, c=2.0)
    assert value.item() == pytest.approx(expected - float(estimates.current_error))

    alpha, beta, gamma = coefficients.values
    torch.testing.assert_close(alpha + beta + gamma, torch.ones(N_PAST))
    for i in range(N_PAST):
        for k in range(3):
            logits = torch.zeros(N_PAST, 3)
            up, down = logits.clone(), logits.clone()
            up[i, k] += 1e-2
            down[i, k] -= 1e-2
            slope = slow_bound(
                Omega(*up.softmax(1).unbind(1)), estimates, 2.0
            ) - slow_bound(Omega(*down.softmax(1).unbind(1)), estimates, 2.0)
            moved = coefficients.logits[i, k].item()
            assert moved * slope < 0, "the step must go down the slope"


def test_learned_omega_approaches_the_tightest_bound(random_estimates: Any) -> None:
    torch.manual_seed(0)
    coefficients, estimates = AdaptiveOmega(lr=0.05), random_estimates(N_PAST)
    coefficients.start_domain(N_PAST)
    for _ in range(3000):
        coefficients.step(estimates, c=1.0)
    learned = unified_bound(coefficients.values, estimates, 1.0).item()
    assert learned == pytest.approx(tightest_bound(estimates, 1.0).item(), rel=1e-3)


def test_a_small_divergence_raises_beta(random_estimates: Any) -> None:
    torch.manual_seed(0)
    coefficients, estimates = AdaptiveOmega(lr=0.05), random_estimates(N_PAST)
    estimates.current_disagreement = torch.tensor(0.1)
    estimates.history_error = torch.zeros(N_PAST)
    estimates.past_error = estimates.past_disagreement = torch.full((N_PAST,), 0.6)
    estimates.divergence = torch.tensor([0.0, 0.0, 2.0, 2.0])
    coefficients.start_domain(N_PAST)
    for _ in range(500):
        coefficients.step(estimates, c=0.1)
    beta = coefficients.values.beta
    assert beta[:2].min() > 0.9 and beta[2:].max() < 0.1


def test_fixed_coefficients_stay(random_estimates: Any) -> None:
    coefficients = AdaptiveOmega(fixed=lambda t: (1 / t, 0.0, 1 - 1 / t))
    for n_past in (1, 4):
        coefficients.start_domain(n_past)
        before = coefficients.values
        coefficients.step(random_estimates(n_past), c=1.0)
        t = n_past + 1
        assert coefficients.values is before
        torch.testing.assert_close(before.alpha, torch.full((n_past,), 1 / t))
        torch.testing.assert_close(before.gamma, torch.full((n_past,), 1 - 1 / t))
        assert before.beta.tolist() == [0.0] * n_past

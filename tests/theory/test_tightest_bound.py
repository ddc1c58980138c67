"""Corollary 3.4.1: no coefficients give a tighter bound."""

from typing import Any

import pytest
import torch

from udil_avalanche.theory.bound import unified_bound
from udil_avalanche.theory.coefficients import Omega, fixed_coefficients
from udil_avalanche.theory.tightest_bound import tightest_bound, tightest_coefficients
from udil_avalanche.theory.unification import PRESETS


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("c", [0.01, 1.0, 50.0])
def test_neither_presets_nor_other_coefficients_are_tighter(
    seed: int, c: float, random_estimates: Any, random_omega: Any
) -> None:
    torch.manual_seed(seed)
    t = int(torch.randint(2, 10, ()))
    estimates = random_estimates(t - 1)
    tightest = tightest_bound(estimates, c).item()
    tolerance = 1e-6 * tightest
    for preset in PRESETS.values():
        fixed = fixed_coefficients(preset.coefficients(t), t - 1)
        assert tightest <= unified_bound(fixed, estimates, c).item() + tolerance
    best = tightest_coefficients(estimates, c)
    for scale in (0.3, 1.0, 5.0):
        for _ in range(100):
            other = random_omega(t - 1, scale)
            near = Omega(*map(torch.lerp, best, other, [0.01] * 3))
            for omega in (other, near):
                assert tightest <= unified_bound(omega, estimates, c).item() + tolerance


def test_two_domains_by_trying_all(random_estimates: Any) -> None:
    estimates, c = random_estimates(2), 3.0
    steps = torch.linspace(0, 1, 51)
    slow = min(
        unified_bound(
            Omega(
                alpha=torch.tensor([a_1, a_2]),
                beta=torch.stack([b_1, b_2]),
                gamma=torch.stack([1 - b_1 - a_1, 1 - b_2 - a_2]),
            ),
            estimates,
            c,
        ).item()
        for b_1 in steps
        for b_2 in steps
        for a_1 in (0.0, float(1 - b_1))
        for a_2 in (0.0, float(1 - b_2))
    )
    tightest = tightest_bound(estimates, c).item()
    assert tightest <= slow + 1e-6
    assert tightest == pytest.approx(slow, rel=1e-3)


@pytest.mark.parametrize("c", [0.1, 10.0])
def test_the_coefficients_lie_on_the_simplex(c: float, random_estimates: Any) -> None:
    omega = tightest_coefficients(random_estimates(5), c)
    torch.testing.assert_close(sum(omega), torch.ones(5))
    assert min(float(each.min()) for each in omega) >= 0


def test_small_divergence_and_many_current_samples_favour_beta(
    random_estimates: Any,
) -> None:
    estimates = random_estimates(3)
    estimates.divergence = torch.tensor([0.0, 2.0, 2.0])
    estimates.current_disagreement = torch.tensor(0.0)
    estimates.history_error = torch.zeros(3)
    estimates.past_error = estimates.past_disagreement = torch.full((3,), 0.5)
    beta = tightest_coefficients(estimates, c=0.1).beta
    assert beta[0] == 1 and beta[1:].max() == 0

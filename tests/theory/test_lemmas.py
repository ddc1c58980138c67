"""The lemmas against slow versions of them, and what they promise."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from udil_avalanche.theory.bound import (
    BoundEstimates,
    bound_terms,
    generalization_term,
    unified_bound,
    vc_constant,
)
from udil_avalanche.theory.coefficients import fixed_coefficients
from udil_avalanche.theory.lemmas import (
    cross_domain_bound,
    disagreement_gap,
    erm_bound,
    intra_domain_bound,
    weighted_domains_bound,
    weighted_labelings_bound,
)

N_PAST = 4
C = 3.0

N_POINTS = 6
THRESHOLDS = (torch.arange(N_POINTS + 1)[:, None] <= torch.arange(N_POINTS)).long()
"""A hypothesis space of VC dimension 1: all threshold functions on six points."""


def test_weighted_domains_bound() -> None:
    alpha, errors, n_samples = torch.rand(3), torch.rand(3), torch.tensor([50, 7, 20])
    total, under_root = 0.0, 0.0
    for j in range(3):
        total += float(alpha[j] * errors[j])
        under_root += float(alpha[j]) ** 2 / int(n_samples[j])
    actual = weighted_domains_bound(alpha, errors, n_samples, C)
    assert actual.item() == pytest.approx(total + C * math.sqrt(under_root))


def test_weighted_labelings_bound() -> None:
    beta, errors = torch.rand(3), torch.rand(3)
    total = sum(float(beta[j] * errors[j]) for j in range(3))
    expected = total + sum(beta.tolist()) * math.sqrt(C**2 / 40)
    actual = weighted_labelings_bound(beta, errors, 40, C)
    assert actual.item() == pytest.approx(expected)


def test_erm_bound(random_estimates: Any) -> None:
    estimates = random_estimates(N_PAST)
    total = float(estimates.current_error)
    under_root = 1 / estimates.n_current
    for i in range(N_PAST):
        total += float(estimates.past_error[i])
        under_root += 1 / int(estimates.n_memory[i])
    expected = total + C * math.sqrt(under_root)
    assert erm_bound(estimates, C).item() == pytest.approx(expected)


def test_bounds_of_single_domains(random_estimates: Any) -> None:
    e = random_estimates(N_PAST)
    for i in range(N_PAST):
        history = float(e.history_error[i])
        intra = float(e.past_disagreement[i]) + history
        cross = float(e.current_disagreement) + float(e.divergence[i]) / 2 + history
        assert intra_domain_bound(e)[i].item() == pytest.approx(intra)
        assert cross_domain_bound(e)[i].item() == pytest.approx(cross)


@pytest.mark.parametrize("seed", range(5))
def test_the_theorem_mixes_the_lemmas(
    seed: int, random_estimates: Any, random_omega: Any
) -> None:
    torch.manual_seed(seed)
    estimates, omega = random_estimates(N_PAST), random_omega(N_PAST)
    mixed = (
        omega.gamma * estimates.past_error
        + omega.alpha * intra_domain_bound(estimates)
        + omega.beta * cross_domain_bound(estimates)
    )
    terms = bound_terms(omega, estimates, C)
    torch.testing.assert_close(sum(terms[:-1]), mixed.sum())

    # Lemma A.2: all labelling functions on S_t count together. Lemma A.1: the domains.
    weights = torch.cat([1 + omega.beta.sum()[None], omega.gamma + omega.alpha])
    n_samples = torch.cat([torch.tensor([estimates.n_current]), estimates.n_memory])
    torch.testing.assert_close(
        generalization_term(omega, estimates, C),
        weighted_domains_bound(weights, torch.zeros(N_PAST + 1), n_samples, C),
    )


def test_corners_of_the_theorem_are_the_lemmas(random_estimates: Any) -> None:
    estimates = random_estimates(N_PAST)
    gamma_only = fixed_coefficients((0, 0, 1), N_PAST)
    torch.testing.assert_close(
        unified_bound(gamma_only, estimates, C), erm_bound(estimates, C)
    )
    for corner, bound in (
        ((1, 0, 0), intra_domain_bound(estimates)),
        ((0, 1, 0), cross_domain_bound(estimates)),
    ):
        omega = fixed_coefficients(corner, N_PAST)
        without_samples = unified_bound(omega, estimates, c=0)
        torch.testing.assert_close(
            without_samples, estimates.current_error + bound.sum()
        )


def how_often(distribution: Tensor, event: Tensor) -> Tensor:
    return (distribution * event).sum()


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """The divergence of the paper by its definition: the largest difference over all
    pairs of hypotheses."""
    gaps = [
        (how_often(p, h != g) - how_often(q, h != g)).abs()
        for h, g in itertools.product(THRESHOLDS, THRESHOLDS)
    ]
    return 2 * torch.stack(gaps).max()


@pytest.mark.parametrize("seed", range(10))
def test_the_lemmas_hold_for_every_model_and_history_model(seed: int) -> None:
    torch.manual_seed(seed)
    past, current = torch.randn(2, N_POINTS).softmax(dim=1).double()
    truth = torch.randint(2, (N_POINTS,))
    gap = divergence(past, current)
    nothing = torch.zeros(())
    for h, history in itertools.product(THRESHOLDS, THRESHOLDS):
        estimates = BoundEstimates(
            current_error=nothing,
            past_error=nothing,
            current_disagreement=how_often(current, h != history),
            past_disagreement=how_often(past, h != history),
            divergence=gap,
            history_error=how_often(past, history != truth),
            n_current=1,
            n_memory=torch.ones(1),
        )
        error = how_often(past, h != truth) - 1e-12
        assert error <= intra_domain_bound(estimates)
        assert error <= cross_domain_bound(estimates)
        difference = estimates.past_disagreement - estimates.current_disagreement
        assert difference.abs() <= disagreement_gap(gap) + 1e-12


def test_the_bounds_of_empirical_risks_hold_with_probability_1_minus_delta() -> None:
    """At least; the constant is generous, and no hypothesis of any draw fails."""
    torch.manual_seed(0)
    delta, n_samples = 0.2, torch.tensor([20, 60])
    distributions = torch.randn(2, N_POINTS).softmax(dim=1)
    truths = torch.randint(2, (2, N_POINTS))
    wrong = (THRESHOLDS[None] != truths[:, None]).float()  # domain, h, point
    true_errors = (wrong * distributions[:, None]).sum(dim=2)
    weights = torch.tensor([0.5, 1.5])
    c = vc_constant(1, int(n_samples.sum()), delta)

    failures = 0
    for _ in range(100):
        drawn = [
            torch.multinomial(p, int(n), replacement=True)
            for p, n in zip(distributions, n_samples, strict=True)
        ]
        by_domain = torch.stack([wrong[j][:, drawn[j]].mean(dim=1) for j in range(2)])
        by_labeling = torch.stack([wrong[j][:, drawn[0]].mean(dim=1) for j in range(2)])
        labeling_errors = (wrong * distributions[0]).sum(dim=2)
        for k in range(len(THRESHOLDS)):
            domains = weighted_domains_bound(weights, by_domain[:, k], n_samples, c)
            labelings = weighted_labelings_bound(weights, by_labeling[:, k], 20, c)
            failures += int(weights @ true_errors[:, k] > domains)
            failures += int(weights @ labeling_errors[:, k] > labelings)
    assert failures == 0

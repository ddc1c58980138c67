"""Predictions by a fit that leaves the sample out."""

import pytest
import torch
from torch import Tensor

from udil_avalanche.theory.leave_one_out import (
    leave_one_out_errors,
    leave_one_out_predictions,
)
from udil_avalanche.theory.measured_divergence import (
    measured_divergence,
    measured_divergences,
)


def fitted_without(i: int, x: Tensor, y: Tensor, w: Tensor, ridge: float) -> Tensor:
    """Weighted ridge regression with an intercept on all samples but one, by the normal
    equations."""
    rest = torch.arange(len(w)) != i
    a = torch.cat([torch.ones(len(w), 1, dtype=x.dtype), x], dim=1)
    penalty = ridge * torch.eye(a.shape[1], dtype=x.dtype)
    penalty[0, 0] = 0
    left = a[rest].T @ (w[rest, None] * a[rest]) + penalty
    solution = torch.linalg.solve(left, a[rest].T @ (w[rest, None] * y[rest]))
    return a[i] @ solution


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [2, 5, 20])
def test_predictions_are_those_of_a_fit_without_the_sample(
    seed: int, width: int
) -> None:
    torch.manual_seed(seed)
    x = torch.randn(14, width, dtype=torch.double) * 3 + 2
    y = torch.randn(14, 3, dtype=torch.double)
    w = torch.rand(14, dtype=torch.double) + 0.2
    centred = x - w @ x / w.sum()
    ridge = 0.3 * float((w * centred.pow(2).sum(dim=1)).mean())
    expected = torch.stack([fitted_without(i, x, y, w, ridge) for i in range(14)])
    torch.testing.assert_close(leave_one_out_predictions(x, y, w, 0.3), expected)


@pytest.mark.parametrize("seed", range(3))
def test_every_group_has_an_intercept_of_its_own(seed: int) -> None:
    torch.manual_seed(seed)
    x = torch.randn(14, 5, dtype=torch.double) * 3 + 2
    y = torch.randn(14, 2, dtype=torch.double)
    w = torch.rand(14, dtype=torch.double) + 0.2
    groups = torch.tensor([0, 1, 2, 2, 0, 1, 1, 2, 0, 0, 1, 2, 1, 0])
    member = torch.eye(3, dtype=torch.double)[groups]
    means = (member.T * w) @ x / (member.T @ w)[:, None]
    centred = x - member @ means
    ridge = 0.3 * float((w * centred.pow(2).sum(dim=1)).mean())
    penalty = ridge * torch.eye(8, dtype=torch.double)
    penalty[:3, :3] = 0
    a = torch.cat([member, x], dim=1)
    expected = []
    for i in range(14):
        rest = torch.arange(14) != i
        left = a[rest].T @ (w[rest, None] * a[rest]) + penalty
        right = a[rest].T @ (w[rest, None] * y[rest])
        expected.append(a[i] @ torch.linalg.solve(left, right))
    found = leave_one_out_predictions(x, y, w, 0.3, groups)
    torch.testing.assert_close(found, torch.stack(expected))


def test_the_scale_of_the_features_does_not_matter() -> None:
    torch.manual_seed(0)
    x, y, w = torch.randn(20, 7), torch.randn(20, 2), torch.ones(20)
    torch.testing.assert_close(
        leave_one_out_predictions(1e3 * x, y, w), leave_one_out_predictions(x, y, w)
    )


def test_errors_of_domains_with_and_without_structure() -> None:
    torch.manual_seed(0)
    domains = torch.arange(3).repeat_interleave(40)
    labels = torch.randint(4, (120,))
    features = torch.randn(120, 200)
    known = torch.eye(4)[labels] * 30
    features[:80, :4] += known[:80]
    errors = leave_one_out_errors(features, labels, domains)
    assert errors[:2].max() < 0.1
    assert errors[2] > 0.5, "labels at random cannot be predicted, only memorised"


def test_no_divergence_within_a_domain_and_all_of_it_between_far_ones() -> None:
    torch.manual_seed(0)
    current = torch.randn(128, 300)
    shift = torch.zeros(300)
    shift[:50] = 1.0
    near = torch.cat(
        [measured_divergence(torch.randn(20, 300), current)[None] for _ in range(10)]
    )
    assert near.mean() < 0.3
    assert measured_divergence(torch.randn(20, 300) + 3 * shift, current) > 1.8
    both = torch.cat([torch.randn(20, 300), torch.randn(20, 300) + 3 * shift])
    domains = torch.arange(2).repeat_interleave(20)
    each = measured_divergences(both, domains, current)
    assert each[0] < 0.5 < 1.8 < each[1]


def test_it_grows_with_the_distance() -> None:
    torch.manual_seed(1)
    direction = torch.randn(100) / 10
    past, current = torch.randn(60, 100), torch.randn(128, 100)
    found = [measured_divergence(past + s * direction, current) for s in (0, 2, 4, 8)]
    assert found == sorted(found) and found[-1] > found[0] + 1


def test_a_single_sample_measures_nothing() -> None:
    assert measured_divergence(torch.zeros(1, 3), torch.ones(9, 3)) == 2


def test_several_fits_at_once_are_those_of_each() -> None:
    torch.manual_seed(0)
    for width in (2, 40):
        x, y, w = torch.randn(3, 30, width), torch.randn(30, 2), torch.rand(30) + 0.1
        expected = [leave_one_out_predictions(each, y, w) for each in x]
        found = leave_one_out_predictions(x, y, w)
        torch.testing.assert_close(found, torch.stack(expected))


def test_divergences_of_many_domains_are_those_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(0)
    domains = torch.tensor([0] * 5 + [1] * 9 + [2] + [3] * 5 + [4] * 9 + [5] * 5)
    domains = domains[torch.randperm(len(domains))]
    current = torch.randn(20, 12)
    past = torch.randn(len(domains), 12) + 0.4 * domains[:, None]
    expected = [measured_divergence(past[domains == i], current) for i in range(6)]
    for at_once in (2**20, 1):
        monkeypatch.setattr(
            "udil_avalanche.theory.measured_divergence.VALUES_AT_ONCE", at_once
        )
        found = measured_divergences(past, domains, current)
        torch.testing.assert_close(found, torch.stack(expected))
    assert found.unique().numel() > 3

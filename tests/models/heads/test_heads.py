"""Classifiers in closed form, next to slow versions of their formulas."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from udil_avalanche.models.heads import (
    ClosedFormHead,
    DiscriminantAnalysis,
    NearestClassMean,
    RandomRidge,
)

WIDTH, CLASSES = 5, 3


def random_ridge() -> RandomRidge:
    torch.manual_seed(7)
    return RandomRidge(WIDTH, CLASSES, random_features=20)


HEADS: list[Callable[[], ClosedFormHead]] = [
    lambda: NearestClassMean(WIDTH, CLASSES),
    lambda: DiscriminantAnalysis(WIDTH, CLASSES),
    random_ridge,
]


def samples(n: int = 90, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (n,), generator=generator)
    centres = 2 * torch.randn(CLASSES, WIDTH, generator=generator)
    mixing = torch.randn(WIDTH, WIDTH, generator=generator)
    noise = torch.randn(n, WIDTH, generator=generator) @ mixing
    return centres[labels] + noise, labels


def fitted(head: ClosedFormHead, *batches: tuple[Tensor, Tensor]) -> ClosedFormHead:
    for features, labels in batches:
        head.observe(features, labels)
    head.fit()
    return head


def test_nearest_class_mean() -> None:
    x, y = samples()
    head = fitted(NearestClassMean(WIDTH, CLASSES), (x, y))
    new, _ = samples(seed=1)
    for row, logits in zip(new, head(new), strict=True):
        distances = [float((row - x[y == c].mean(0)).norm()) for c in range(CLASSES)]
        assert int(logits.argmax()) == distances.index(min(distances))


def test_discriminant_analysis() -> None:
    x, y = samples()
    head = fitted(DiscriminantAnalysis(WIDTH, CLASSES, shrinkage=0.2), (x, y))
    covariance = torch.zeros(WIDTH, WIDTH, dtype=torch.float64)
    means = [x[y == c].double().mean(0) for c in range(CLASSES)]
    for row, label in zip(x.double(), y, strict=True):
        covariance += torch.outer(row - means[label], row - means[label]) / len(x)
    identity = torch.eye(WIDTH, dtype=torch.float64)
    variance = covariance.trace() / WIDTH
    inverse = torch.linalg.inv(0.8 * covariance + 0.2 * variance * identity)
    new, _ = samples(seed=1)
    for row, logits in zip(new.double(), head(new), strict=True):
        for c, mean in enumerate(means):
            expected = mean @ inverse @ row - mean @ inverse @ mean / 2
            torch.testing.assert_close(
                logits[c].double(), expected, rtol=1e-4, atol=1e-4
            )


def test_ridge_on_random_features() -> None:
    """An intercept without a penalty: a column of ones whose weight costs nothing."""
    x, y = samples()
    torch.manual_seed(7)
    head = RandomRidge(WIDTH, CLASSES, random_features=20, ridge=0.3)
    fitted(head, (x, y))
    phi = (x @ head.projection).relu().double()
    design = torch.cat([phi, torch.ones(len(x), 1, dtype=torch.float64)], dim=1)
    targets = torch.nn.functional.one_hot(y).double()
    centred = phi - phi.mean(dim=0)
    penalty = 0.3 * centred.square().sum() / 20
    costs = torch.diag(torch.tensor([1.0] * 20 + [0.0]).double()) * penalty
    weights = torch.linalg.solve(design.T @ design + costs, design.T @ targets)
    torch.testing.assert_close(head(x).double(), design @ weights, rtol=1e-4, atol=1e-4)


def test_the_penalty_has_the_least_generalised_cross_validation_error() -> None:
    x, y = samples(60)
    head = fitted(random_ridge(), (x, y))
    phi = (x @ head.projection).relu().double()
    targets = torch.nn.functional.one_hot(y).double()
    n, ones = len(x), torch.ones(len(x), 1, dtype=torch.float64)
    centring = torch.eye(n, dtype=torch.float64) - ones @ ones.T / n
    unit = (centring @ phi).square().sum() / 20
    errors = {}
    for half_steps in range(-12, 5):
        penalty = unit * 10 ** (half_steps / 2)
        identity = torch.eye(20, dtype=torch.float64)
        inner = torch.linalg.inv(phi.T @ centring @ phi + penalty * identity)
        hat = ones @ ones.T / n + centring @ phi @ inner @ phi.T @ centring
        predicted = hat @ targets
        residual = (targets - predicted).square().sum()
        errors[float(n * residual / (n - hat.trace()) ** 2)] = predicted
    best = errors[min(errors)]
    torch.testing.assert_close(head(x).double(), best, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", HEADS)
def test_the_order_of_samples_and_batches_does_not_matter(
    make: Callable[[], ClosedFormHead],
) -> None:
    x, y = samples()
    at_once = fitted(make(), (x, y))
    order = torch.randperm(len(x))
    parts = zip(x[order].split(7), y[order].split(7), strict=True)
    in_parts = fitted(make(), *parts)
    torch.testing.assert_close(at_once.sums, in_parts.sums, rtol=1e-9, atol=1e-9)
    new, _ = samples(seed=1)
    torch.testing.assert_close(at_once(new), in_parts(new), rtol=1e-4, atol=1e-4)
    assert torch.equal(at_once(new).argmax(1), in_parts(new).argmax(1))


@pytest.mark.parametrize("make", HEADS)
def test_a_class_without_samples_is_never_predicted(
    make: Callable[[], ClosedFormHead],
) -> None:
    x, y = samples()
    seen = y < CLASSES - 1
    head = fitted(make(), (x[seen], y[seen]))
    logits = head(samples(500, seed=1)[0])
    assert logits.isfinite().all()
    assert set(logits.argmax(1).tolist()) <= {0, 1}


@pytest.mark.parametrize("make", HEADS)
@pytest.mark.parametrize("n", [1, 2])
def test_few_and_constant_samples_give_finite_logits(
    make: Callable[[], ClosedFormHead], n: int
) -> None:
    head = fitted(make(), (torch.ones(n, WIDTH), torch.arange(n)))
    assert head(torch.randn(4, WIDTH)).isfinite().all()


@pytest.mark.parametrize("make", HEADS)
def test_a_saved_head_goes_on(make: Callable[[], ClosedFormHead]) -> None:
    first, second = samples(seed=0), samples(seed=1)
    whole = fitted(make(), first, second)
    saved = fitted(make(), first).state_dict()
    again = make()
    again.load_state_dict(saved)
    fitted(again, second)
    assert torch.equal(again(first[0]), whole(first[0]))
    assert not any(each.requires_grad for each in again.parameters())

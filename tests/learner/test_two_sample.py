"""Whether new samples differ from a domain, beyond chance."""

import itertools

import pytest
import torch
from torch import Tensor

from udil_avalanche.learner.two_sample import (
    TwoSampleTest,
    _compared,
    _scores,
    two_sample_test,
)
from udil_avalanche.theory.measured_divergence import measured_divergence


def shifted(n: int, by: float, features: int = 40) -> Tensor:
    x = torch.randn(n, features)
    x[:, :5] += by
    return x


def repeated(
    n_known: int, n_new: int, by: float, repeats: int = 60
) -> list[TwoSampleTest]:
    return [
        two_sample_test(
            known=shifted(n_known, 0), new=shifted(n_new, by), permutations=99, seed=i
        )
        for i in range(repeats)
    ]


@pytest.mark.parametrize(("n_known", "n_new"), [(20, 50), (100, 20), (60, 60)])
def test_samples_of_the_same_domain_are_seldom_told_apart(
    n_known: int, n_new: int
) -> None:
    tests = repeated(n_known, n_new, by=0)
    # 5 % of 60 are 3; more than 8 happen once in 200 times.
    assert sum(each.p_value <= 0.05 for each in tests) <= 8
    assert sum(each.low > 0 for each in tests) <= 8
    assert sum(each.divergence for each in tests) / len(tests) < 0.2


@pytest.mark.parametrize("by", [0.7, 1.5])
def test_the_interval_holds_the_divergence_of_such_fits(by: float) -> None:
    tests = repeated(40, 50, by)
    mean = sum(each.divergence for each in tests) / len(tests)
    assert sum(each.low <= mean <= each.high for each in tests) >= 52
    assert all(0 <= e.low <= e.divergence <= e.high <= 2 for e in tests)


def test_a_foreign_domain_is_seen_with_few_samples() -> None:
    far = two_sample_test(known=shifted(20, 0), new=shifted(50, 2))
    assert far.divergence > 1.2
    assert far.low > 0.5
    assert far.p_value <= 0.005
    assert (far.n_known, far.n_new, far.n_apart) == (20, 50, 0)


def test_it_is_about_the_measured_divergence_of_the_theory() -> None:
    known, new = shifted(100, 0), shifted(100, 1)
    found = two_sample_test(known=known, new=new, permutations=9).divergence
    assert found == pytest.approx(float(measured_divergence(known, new)), abs=0.15)


def mixed(shares: list[float], n: int, by: float = 0) -> tuple[Tensor, Tensor]:
    """Samples of three classes that are far from each other."""
    classes = torch.multinomial(torch.tensor(shares), n, replacement=True)
    x = torch.randn(n, 30)
    x[:, :3] += 6 * torch.eye(3)[classes]
    x[:, 5:10] += by
    return x, classes


def test_other_frequencies_of_the_classes_are_no_other_domain() -> None:
    called, called_without_classes = 0, 0
    for seed in range(30):
        known, known_classes = mixed([0.1, 0.3, 0.6], 80)
        new, new_classes = mixed([0.7, 0.2, 0.1], 60)
        both = {"known": known, "new": new, "permutations": 99, "seed": seed}
        test = two_sample_test(
            **both, known_classes=known_classes, new_classes=new_classes
        )
        called += test.p_value <= 0.05
        called_without_classes += two_sample_test(**both).p_value <= 0.05
    assert called <= 5
    assert called_without_classes == 30


def test_a_domain_is_seen_behind_other_frequencies_of_the_classes() -> None:
    known, known_classes = mixed([0.1, 0.3, 0.6], 80)
    new, new_classes = mixed([0.7, 0.2, 0.1], 60, by=1.5)
    test = two_sample_test(
        known=known, new=new, known_classes=known_classes, new_classes=new_classes
    )
    assert test.p_value <= 0.01
    assert test.low > 0.5


def test_classes_of_one_side_only_are_left_out() -> None:
    known, new = shifted(30, 0), shifted(40, 0)
    known_classes = torch.tensor([0] * 20 + [1] * 10)
    new_classes = torch.tensor([0] * 25 + [2] * 15)
    new[25:] += 100
    test = two_sample_test(
        known=known, new=new, known_classes=known_classes, new_classes=new_classes
    )
    assert (test.n_known, test.n_new, test.n_apart) == (20, 25, 15)
    assert test.p_value > 0.01


@pytest.mark.parametrize(("n_known", "n_new"), [(0, 10), (1, 10), (10, 1)])
def test_too_few_to_compare_exclude_nothing(n_known: int, n_new: int) -> None:
    test = two_sample_test(known=shifted(n_known, 0), new=shifted(n_new, 9))
    assert not test.is_measured
    assert (test.low, test.high, test.p_value) == (0, 2, 1)


def test_it_is_repeatable_and_uses_as_many_samples_as_it_may() -> None:
    both = {"known": shifted(50, 0), "new": shifted(90, 0.5), "most": 40}
    first = two_sample_test(**both)
    assert first == two_sample_test(**both)
    assert (first.n_known, first.n_new) == (40, 40)


def test_errors_say_what_is_missing() -> None:
    with pytest.raises(ValueError, match="both sides or of none"):
        two_sample_test(
            known=shifted(5, 0), new=shifted(5, 0), known_classes=torch.zeros(5)
        )


def test_errors_and_their_worth_are_those_of_the_formula() -> None:
    groups = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    sides = torch.tensor([0.0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1])[:, None]
    x = torch.randn(11, 3) + 2 * sides
    scores = _scores(x, sides, groups)
    _, errors, sizes = _compared(scores, sides, groups)
    gap_top = gap_bottom = 0.0
    for i in range(11):
        mean = sides[groups == groups[i]].mean().item()
        gap_top += scores[i].item() * (sides[i].item() - mean)
        gap_bottom += (sides[i].item() - mean) ** 2
    gap = max(0.0, gap_top / gap_bottom)
    counts = {(g, s): int(((groups == g) & (sides[:, 0] == s)).sum())
              for g, s in itertools.product((0, 1), (0, 1))}  # fmt: skip
    mix = [1 / (1 / counts[g, 0] + 1 / counts[g, 1]) for g in (0, 1)]
    expected = [0.0, 0.0]
    for i in range(11):
        g, s = int(groups[i]), int(sides[i])
        share = counts[g, 1] / (counts[g, 0] + counts[g, 1])
        wrong = (scores[i].item() > (0.5 - share) * gap) != bool(s)
        expected[s] += wrong * mix[g] / sum(mix) / counts[g, s]
    assert errors[:, 0].tolist() == pytest.approx(expected, abs=1e-6)
    worth = [
        sum(mix) ** 2 / sum(mix[g] ** 2 / counts[g, s] for g in (0, 1)) for s in (0, 1)
    ]
    assert sizes.tolist() == pytest.approx(worth, rel=1e-5)

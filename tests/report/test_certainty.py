"""Tests and ranks against slow counts and published tables."""

import itertools
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.report.certainty import paired_tests, ranking_of
from udil_avalanche.report.collect import collect
from udil_avalanche.report.paired import holm, signed_rank_p
from udil_avalanche.report.ranks import (
    Ranking,
    critical_difference,
    friedman_p,
    ranked,
)
from udil_avalanche.report.tables import tables_of

Q_OF_DEMSAR = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
"""Table 5(a) of Demšar's paper: the two-tailed Nemenyi test at 5 %, 2 to 10 methods."""


def slow_signed_rank_p(differences: list[float]) -> float:
    """The share of all signs that would be at least as one-sided."""
    sizes = sorted(map(abs, differences))
    ranks = [1 + sizes.index(abs(each)) for each in differences]
    middle = sum(ranks) / 2

    def off(signs: tuple[int, ...]) -> float:
        positive = sum(r for r, sign in zip(ranks, signs, strict=True) if sign > 0)
        return abs(positive - middle)

    seen = off(tuple(1 if each > 0 else -1 for each in differences))
    all_signs = list(itertools.product((1, -1), repeat=len(differences)))
    return sum(off(signs) >= seen - 1e-9 for signs in all_signs) / len(all_signs)


@pytest.mark.parametrize("seed", range(5))
def test_the_signed_rank_test_is_that_of_all_signs(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.4, size=9).tolist()
    assert signed_rank_p(differences) == pytest.approx(slow_signed_rank_p(differences))


def test_no_difference_is_no_evidence() -> None:
    assert signed_rank_p([0.0, 0.0, 0.0]) == 1
    assert signed_rank_p([0.0, 1.0, 2.0, 3.0]) == pytest.approx(0.25), "three pairs"


def test_holm_rejects_step_by_step() -> None:
    """At every level, the adjusted p-values reject what Holm's steps reject."""
    p_values = [0.01, 0.04, 0.03, 0.005, 0.8]
    for level in (0.001, 0.02, 0.026, 0.05, 0.09, 0.13, 0.9):
        rejected = set()
        for step, p in enumerate(sorted(p_values)):
            if p > level / (len(p_values) - step):
                break
            rejected.add(p)
        adjusted = holm(p_values)
        found = {p for p, a in zip(p_values, adjusted, strict=True) if a <= level}
        assert found == rejected
    assert holm([]) == []


def test_the_critical_difference_is_that_of_the_table() -> None:
    for k, q in enumerate(Q_OF_DEMSAR, start=2):
        expected = q * math.sqrt(k * (k + 1) / (6 * 14))
        assert critical_difference(k, 14) == pytest.approx(expected, abs=1e-3)


def test_friedman_is_the_sum_of_the_formula_and_a_share_of_draws() -> None:
    ranks = [
        [4, 4, 3, 3, 4, 3, 4, 4, 4, 3, 2, 2, 2, 2],
        [1, 1, 2, 2, 2, 2, 1, 2, 2, 2, 3, 3, 3, 2],
        [2, 3, 4, 4, 3, 4, 3, 3, 3, 4, 1, 1, 1, 4],
        [3, 2, 1, 1, 1, 1, 2, 1, 1, 1, 4, 4, 4, 2],
    ]
    k, n = 4, 14
    # On the last task three share the first three ranks: 3^3 - 3 in the correction.
    means = [sum(each) / n for each in ranks]
    spread = sum(mean**2 for mean in means) - k * (k + 1) ** 2 / 4
    chi = 12 * n / (k * (k + 1)) * spread / (1 - (3**3 - 3) / (n * (k**3 - k)))
    F = (n - 1) * chi / (n * (k - 1) - chi)
    draws = np.random.default_rng(0).f(k - 1, (k - 1) * (n - 1), size=400_000)
    assert friedman_p(ranks) == pytest.approx((draws >= F).mean(), abs=0.003)


def test_ranks_that_never_or_always_agree() -> None:
    assert friedman_p([[1, 1, 1], [2, 2, 2], [3, 3, 3]]) == 0
    assert friedman_p([[2, 2, 2], [2, 2, 2], [2, 2, 2]]) == 1


def test_cliques_are_the_largest_groups_within_the_critical_difference() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        names, tasks = "abcdefg", [f"task {n}" for n in range(rng.integers(2, 40))]
        scores = {
            task: dict(zip(names, rng.normal(np.arange(7) * 0.6).tolist(), strict=True))
            for task in tasks
        }
        ranking = ranked(scores)
        assert ranking is not None
        means, reach = ranking.means, ranking.critical_difference
        assert list(means.values()) == sorted(means.values())
        together = [
            set(group)
            for size in range(2, 8)
            for group in itertools.combinations(names, size)
            if max(means[n] for n in group) - min(means[n] for n in group) <= reach
        ]
        largest = [g for g in together if not any(g < other for other in together)]
        assert sorted(map(sorted, ranking.cliques)) == sorted(map(sorted, largest))


def test_a_task_without_a_method_is_left_out_and_named() -> None:
    scores = {
        "x": {"a": 3.0, "b": 2.0, "c": 1.0},
        "y": {"a": 3.0, "b": 3.0, "c": 1.0},
        "z": {"a": 3.0, "b": 2.0},
    }
    ranking = ranked(scores)
    assert ranking is not None
    assert ranking.means == {"a": 1.25, "b": 1.75, "c": 3.0}
    assert (ranking.tasks, ranking.left_out) == (["x", "y"], ["z"])
    assert "Not counted: z, where" in ranking.in_words
    del scores["y"]
    assert ranked(scores) is None, "one task is left"


def test_pairs_are_those_of_seed_and_domain(make_run: Any, tmp_path: Path) -> None:
    """UDIL against ER, which lacks a seed, and LwF, which is the same on one domain."""
    rng = np.random.default_rng(0)
    last = {}
    for method, seeds, level in (("UDIL", 3, 81), ("ER", 2, 80), ("LwF", 3, 60)):
        for seed in range(seeds):
            accuracies = rng.normal(level, 2, size=5).round(2)
            last[method, seed] = accuracies
            make_run(method, domains=5, seed=seed, last=accuracies)
    [table] = tables_of(collect([tmp_path]).runs)
    tests = paired_tests(table)
    assert tests is not None and tests.method == "UDIL"
    assert [test.other for test in tests.tests] == ["LwF", "ER"]
    slow = {}
    for test in tests.tests:
        seeds = range(2 if test.other == "ER" else 3)
        pairs = [
            last["UDIL", seed][t] - last[test.other, seed][t]
            for seed in seeds
            for t in range(5)
        ]
        by_seed = [
            statistics.fmean(last["UDIL", s]) - statistics.fmean(last[test.other, s])
            for s in seeds
        ]
        assert (test.better, test.pairs) == (sum(p > 0 for p in pairs), len(pairs))
        assert test.difference.mean == pytest.approx(statistics.fmean(by_seed))
        slow[test.other] = slow_signed_rank_p(pairs)
    first, second = sorted(slow, key=lambda name: slow[name])
    adjusted = {first: min(1, 2 * slow[first])}
    adjusted[second] = max(adjusted[first], slow[second])
    for test in tests.tests:
        assert test.p_value == pytest.approx(adjusted[test.other])
    lwf, er = tests.tests
    assert lwf.is_clear
    assert not er.is_clear, "two seeds have no interval"


def test_without_udil_the_best_is_tested_and_joint_training_never_is(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", accuracy=80.0)
    [table] = tables_of(collect([tmp_path]).runs)
    assert paired_tests(table) is None, "there is no other"
    make_run("LwF", accuracy=85.0)
    make_run("Joint", accuracy=95.0)
    [table] = tables_of(collect([tmp_path]).runs)
    tests = paired_tests(table)
    assert tests is not None
    assert (tests.method, [test.other for test in tests.tests]) == ("LwF", ["ER"])


def test_ranks_over_all_tables_are_a_line_and_a_picture(
    make_run: Any, tmp_path: Path
) -> None:
    for benchmark, better in (("hd_balls", 5.0), ("rotated_mnist", 8.0)):
        for seed in range(3):
            make_run("UDIL", benchmark, accuracy=80.0 + better, seed=seed)
            make_run("ER", benchmark, accuracy=80.0, seed=seed)
            make_run("LwF", benchmark, accuracy=60.0, seed=seed)
            make_run("Joint", benchmark, accuracy=99.0, seed=seed)
    ranking = ranking_of(tables_of(collect([tmp_path]).runs))
    assert isinstance(ranking, Ranking)
    assert ranking.means == {"UDIL": 1, "ER": 2, "LwF": 3}
    files = [tmp_path / "report.md", tmp_path / "report.html"]
    command = ["report", str(tmp_path), "--markdown", str(files[0])]
    assert main([*command, "--html", str(files[1])]) == 0
    for file in files:
        assert "UDIL 1.0, ER 2.0, LwF 3.0. Friedman" in file.read_text()
    assert "| ER | **+5.00 ± 0.00** | 60 of 60 |" in files[0].read_text()
    assert 'alt="Mean ranks and their critical difference' in files[1].read_text()

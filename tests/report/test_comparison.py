import itertools
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from udil_avalanche.cli.main import main
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.report.collect import collect
from udil_avalanche.report.comparison import Comparison, comparison_of
from udil_avalanche.report.paired import Difference
from udil_avalanche.report.plan import Plan, PlannedRun

STREAMS = {
    "few": {"domains": 2, "validation": 0.1},
    "more": {"domains": 3, "validation": 0.1},
    "test": {"domains": 4},
}
SEEDS = (100, 101, 102)
METHODS = ("UDIL", "ER", "DER++", "SI", "Joint")
ACCURACIES = {
    ("UDIL", "few"): (80, 82, 84),
    ("UDIL", "more"): (60, 61, 62),
    ("UDIL", "test"): (90, 90, 90),
    ("ER", "few"): (80, 82, 84),
    ("ER", "more"): (50, 50.5, 51.5),
    ("ER", "test"): (91, 90, 92),
    ("DER++", "few"): (70, 71, 75),
    ("DER++", "more"): (62, 61, 66),
    ("DER++", "test"): (88, 87, 86),
    ("SI", "few"): (40, 41, 42),
    ("SI", "more"): (70, 70, 70),
    ("SI", "test"): (30, 30, 30),
    ("Joint", "few"): (95, 95, 95),
    ("Joint", "more"): (95, 95, 95),
    ("Joint", "test"): (95, 95, 95),
}
Compare = Callable[..., Comparison]


def settings_of(method: str, stream: str, seed: int, **more: Any) -> RunSettings:
    options = {**STREAMS[stream], "seed": seed, **more}
    if method not in ("SI", "Joint"):
        options["memory"] = 20
    return resolve(method, "hd_balls", options=options, configs=None)


@pytest.fixture
def compare(make_run: Any, tmp_path: Path) -> Compare:
    """Compares runs with the accuracies above, without some of them."""

    def compare(missing: set[tuple[str, str, int]] = frozenset()) -> Comparison:  # type: ignore[assignment]
        planned = []
        for seed, stream, method in itertools.product(SEEDS, STREAMS, METHODS):
            settings = settings_of(method, stream, seed)
            planned.append(PlannedRun(settings, stream))
            if (method, stream, seed) not in missing:
                options = {**STREAMS[stream], "seed": seed, "memory": settings.memory}
                accuracy = ACCURACIES[method, stream][SEEDS.index(seed)]
                make_run(method, accuracy=accuracy, **options)
        plan = Plan("small", planned)
        identities = {run.identity for run in planned}
        found = collect([tmp_path / "runs"], identities, identities)
        return comparison_of(plan, found.compared)

    return compare


def mean(method: str, stream: str) -> float:
    return statistics.fmean(ACCURACIES[method, stream])


def test_ranks_wins_and_gaps_are_those_of_a_slow_count(compare: Compare) -> None:
    comparison = compare()
    continual = METHODS[:-1]
    for row in comparison.rows[:-1]:
        ranks, wins, gaps = [], 0, {}
        for stream in STREAMS:
            # Each place that equal means could be sorted to, and their average.
            places = [
                sorted(order, key=lambda name: -mean(name, stream)).index(row.method)
                for order in itertools.permutations(continual)
            ]
            ranks.append(1 + statistics.fmean(places))
            wins += mean(row.method, stream) == max(mean(m, stream) for m in continual)
            best = max(mean(name, stream) for name in ("UDIL", "ER", "DER++"))
            gaps[stream] = best - mean(row.method, stream)
            assert comparison.gap(row, stream) == pytest.approx(-gaps[stream])
        assert comparison.mean_rank(row) == pytest.approx(statistics.fmean(ranks))
        assert comparison.wins(row) == wins
        worst = max(gaps, key=lambda stream: gaps[stream])
        assert comparison.behind(row) == (pytest.approx(gaps[worst]), worst)


def test_joint_training_has_no_rank_and_is_never_the_best(compare: Compare) -> None:
    comparison = compare()
    joint = comparison.rows[-1]
    assert comparison.mean_rank(joint) is None
    assert comparison.wins(joint) is None and comparison.behind(joint) is None
    assert comparison.shown(joint, "few") == "95.0 ± 0.0"
    best = {
        (row.name, stream)
        for row in comparison.rows
        for stream in STREAMS
        if comparison.is_best(row, stream)
    }
    # SI is better on "more" but has no memory.
    assert best == {("UDIL", "few"), ("ER", "few"), ("DER++", "more"), ("ER", "test")}


def test_a_method_that_is_best_everywhere_is_behind_nowhere(compare: Compare) -> None:
    others = [m for m in METHODS if m not in ("UDIL", "SI")]
    missing = {run for run in itertools.product(others, STREAMS, SEEDS)}
    comparison = compare(missing)
    udil = comparison.rows[0]
    assert comparison.behind(udil) == (0, "")


def test_missing_runs_leave_cells_empty_and_rows_without_a_rank(
    compare: Compare,
) -> None:
    missing = {("ER", "few", seed) for seed in SEEDS} | {("UDIL", "more", 101)}
    comparison = compare(missing)
    udil, er, *_ = comparison.rows
    assert comparison.state.startswith("41 of the sweep's 45 runs are there.")
    assert comparison.shown(er, "few") == ""
    assert comparison.shown(udil, "more") == "61.0 ± 1.4 (2 of 3)"
    assert comparison.mean_rank(er) is None and comparison.behind(er) is None
    assert comparison.mean_rank(udil) is not None
    difference = comparison.differences["UDIL minus ER"]
    assert difference["few"] is None
    assert difference["more"] == Difference(pytest.approx((10 + 10.5) / 2))


def test_a_stream_that_nobody_has_learned_yet_does_not_count(compare: Compare) -> None:
    missing = {run for run in itertools.product(METHODS, ["test"], SEEDS)}
    comparison = compare(missing)
    assert comparison.mean_rank(comparison.rows[0]) == pytest.approx((1.5 + 3) / 2)


def test_development_figures_are_said_to_be_some(compare: Compare) -> None:
    assert compare().state == (
        "45 of the sweep's 45 runs are there. Development figures, seeds 100-102, "
        "tested on held-out training data (on test data: test)."
    )
    reported = Plan("", [PlannedRun(settings_of("SI", "test", 2), "test")])
    assert reported.development == ""


def test_differences_are_ours_minus_each_other_method(compare: Compare) -> None:
    comparison = compare()
    assert list(comparison.differences) == [f"UDIL minus {m}" for m in METHODS[1:]]
    # The quantile of Student's t with two degrees of freedom, from a printed table.
    quantile = 4.3027
    for method, stream in itertools.product(METHODS[1:], STREAMS):
        ours, theirs = ACCURACIES["UDIL", stream], ACCURACIES[method, stream]
        pairs = [a - b for a, b in zip(ours, theirs, strict=True)]
        centre = sum(pairs) / 3
        variance = sum((each - centre) ** 2 for each in pairs) / 2
        found = comparison.differences[f"UDIL minus {method}"][stream]
        assert found is not None
        assert found.mean == pytest.approx(centre)
        margin = quantile * math.sqrt(variance / 3)
        assert found.margin == pytest.approx(margin, rel=1e-4)


@pytest.mark.parametrize(
    ("pairs", "shown", "is_clear"),
    [
        ([1.0, 1.1, 0.9], "+1.00 ± 0.25", True),
        ([1.0, -1.0, 0.5], "+0.17 ± 2.59", False),
        ([-5.0, -5.0, -5.0], "-5.00 ± 0.00", True),
        ([0.0, 0.0, 0.0], "+0.00 ± 0.00", False),
        ([1.0, 1.0], "+1.00", False),
    ],
)
def test_a_difference_is_clear_if_its_interval_excludes_0(
    pairs: list[float], shown: str, is_clear: bool
) -> None:
    difference = Difference.of(pairs)
    assert str(difference) == shown
    assert difference is not None and difference.is_clear == is_clear


def test_no_pairs_no_difference() -> None:
    assert Difference.of([]) is None


@pytest.fixture
def ablation(make_run: Any, tmp_path: Path) -> Path:
    """A sweep with variants whose runs are there, with made-up accuracies."""
    written = {
        "strategies": ["UDIL"],
        "configs": "none",
        "seeds": list(SEEDS),
        "streams": {"few | balls": {"benchmark": "hd_balls", **STREAMS["few"]}},
        "variants": {"default": {}, "with V_s": {"lambda_s": 0.03}, "C": {"C": 2}},
    }
    for place, seed in enumerate(SEEDS):
        options = {**STREAMS["few"], "seed": seed}
        make_run("UDIL", accuracy=80 + place, **options)
        make_run("UDIL", accuracy=75 + 1.1 * place, lambda_s=0.03, **options)
    file = tmp_path / "ablation.yaml"
    file.write_text(yaml.dump(written, sort_keys=False))
    return file


def test_variants_are_compared_with_the_first(
    ablation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "runs"), "--sweep", str(ablation)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "## Comparison: ablation"
    assert lines[2].startswith("6 of the sweep's 9 runs are there. Development figures")
    tables = [line for line in lines if line.startswith("| ")]
    assert tables == [
        "|  | few \\| balls | mean rank | wins | behind |",
        "| --- | --- | --- | --- | --- |",
        "| default | **81.0 ± 1.0** | 1.0 | 1 | 0 |",
        "| with V_s | 76.1 ± 1.1 | 2.0 | 0 | 4.9 (few \\| balls) |",
        "| C |  |  | 0 |  |",
        "|  | few \\| balls |",
        "| --- | --- |",
        "| with V_s minus default | **-4.90 ± 0.25** |",
        "| C minus default |  |",
    ]


def test_the_page_shows_the_comparison_and_its_picture(
    ablation: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    arguments = ["--sweep", str(ablation), "--html", str(page)]
    assert main(["report", str(tmp_path / "runs"), *arguments]) == 0
    text = page.read_text()
    assert "<h2>Comparison: ablation</h2>" in text
    assert "Development figures, seeds 100-102" in text
    assert '<td class="rank-1">-4.90 ± 0.25</td>' in text
    assert '<img src="data:image/svg+xml;base64,' in text
    assert text.count("<img ") == 1, "there are no tables of their own"
    assert 'id="answer"' not in text
    assert "4.9 (few | balls)" in text


def test_figures_lead_to_their_runs(ablation: Path, tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    arguments = ["--sweep", str(ablation), "--markdown", str(file)]
    assert main(["report", str(tmp_path / "runs"), *arguments]) == 0
    text = file.read_text()
    assert text.startswith("# Results\n\n## Comparison: ablation\n")
    assert text.count('<a id="cell-hd_balls-UDIL') == 2
    assert text.count("](#cell-hd_balls-UDIL") == 2
    assert text.count("python run_experiments.py --strategy UDIL") == 6


def test_runs_for_choosing_are_in_no_ordinary_table(
    ablation: Path, make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run("ER", accuracy=70.0)
    ordinary = tmp_path / "ordinary.yaml"
    written = {"strategies": "ER", "benchmarks": "hd_balls", "configs": "none"}
    ordinary.write_text(yaml.dump(written))
    sweeps = ["--sweep", str(ordinary), "--sweep", str(ablation)]
    assert main(["report", str(tmp_path / "runs"), *sweeps]) == 0
    comparison, _, tables = capsys.readouterr().out.partition("next to the paper's")
    assert "**81.0 ± 1.0**" in comparison and "**70.0**" not in comparison
    assert "**70.0**" in tables and "81.0" not in tables
    assert main(["report", str(tmp_path / "runs"), "--sweep", str(ordinary)]) == 0
    shown = capsys.readouterr().out
    assert "Comparison" not in shown
    assert "6 tested on held-out training data" in shown


def test_the_runs_of_a_comparison_are_kept(
    ablation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "results"
    sweep = ["--sweep", str(ablation)]
    assert main(["report", str(tmp_path / "runs"), *sweep, "--keep", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert len(list(kept.rglob("result.json"))) == 6
    assert main(["report", str(kept), *sweep]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.slow
def test_a_small_sweep_and_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = {"train_per_domain": 16, "test_per_domain": 16, "hidden": 4, "dimensions": 4}
    balls = {"benchmark": "hd_balls", "memory": 10}
    written = {
        "strategies": ["UDIL", "SI"],
        "configs": "none",
        "seeds": [100, 101],
        "settings": tiny,
        "streams": {
            "two": {**balls, "domains": 2, "validation": 0.25},
            "three": {**balls, "domains": 3},
        },
    }
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.dump(written, sort_keys=False))
    runs = str(tmp_path / "runs")
    assert main(["sweep", str(file), "--output", runs, "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["report", runs, "--sweep", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "8 of the sweep's 8 runs are there." in shown
    assert "(on test data: three)" in shown
    table = [line for line in shown.splitlines() if line.startswith("| ")]
    assert table[0] == "|  | two | three | mean rank | wins | behind |"
    assert [line.split(" | ")[0] for line in table[2:4]] == ["| UDIL", "| SI"]
    assert table[-1].startswith("| UDIL minus SI | ")

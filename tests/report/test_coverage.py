"""The count of the paper's figures, against a count of the rows of its file."""

import csv
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.report.collect import collect
from udil_avalanche.report.coverage import Coverage, coverage
from udil_avalanche.report.tables import tables_of

FILE = files("udil_avalanche.report").joinpath("paper_tables.csv")
ROWS = list(csv.DictReader(FILE.read_text().splitlines()))
QUARTERS = {
    "avg_acc_1_5": range(1, 6),
    "avg_acc_6_10": range(6, 11),
    "avg_acc_11_15": range(11, 16),
    "avg_acc_16_20": range(16, 21),
}


def counted(place: Path) -> Coverage:
    count = coverage(tables_of(collect([place]).runs))
    assert count is not None
    return count


def test_every_figure_is_counted_and_judged_once(make_run: Any, tmp_path: Path) -> None:
    accuracies, lost = (76.0, 77.0, 78.0), 9.5
    for seed, accuracy in enumerate(accuracies):
        for memory in (200, 400):
            settings = {"accuracy": accuracy, "lost": lost, "seed": seed}
            make_run("ER", "rotated_mnist", memory=memory, **settings)
        make_run("LwF", "rotated_mnist", accuracy=accuracy, lost=lost, seed=seed)

    # Slowly: 10 points more after each domain but the last, so 10 are forgotten.
    expected: Counter[str] = Counter()
    for row in ROWS:
        ours = {
            name: [a + 10 - (10 / 5 if 20 in domains else 0) for a in accuracies]
            for name, domains in QUARTERS.items()
        } | {"avg_acc": list(accuracies), "forgetting": [10.0] * 3}
        method = row["method"], row["memory"]
        if row["benchmark"] != "rotated_mnist" or method not in (
            ("ER", "200"),
            ("ER", "400"),
            ("LwF", ""),
        ):
            continue
        values = ours[row["metric"]]
        mean = sum(values) / 3
        deviation = (sum((v - mean) ** 2 for v in values) / 2) ** 0.5
        more = mean - float(row["mean_percent"])
        if row["metric"] == "forgetting":
            more = -more
        if abs(more) <= max(deviation, float(row["std_percent"])):
            expected["as good"] += 1
        else:
            expected["better" if more > 0 else "worse"] += 1

    count = counted(tmp_path)
    assert count.verdicts == expected and expected.total() == 18
    missing = [place for places in count.missing.values() for place in places]
    assert len(missing) + 18 == len(ROWS) == 445
    assert count.line == (
        f"18 of the paper's 445 figures are measured: {expected['better']} better, "
        f"{expected['as good']} as good, {expected['worse']} worse."
    )


def test_what_is_missing_is_named_with_the_reason(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist", memory=200)
    count = counted(tmp_path)
    assert "0 worse, 6 with one seed only." in count.line
    rest = "\n".join(count.rest)
    others = "GEM, A-GEM, DER++, CLS-ER, ESM-ER, UDIL"
    assert f"Rotated MNIST, 200 samples in memory: 36 figures ({others}): no" in rest
    assert "HD-Balls: 9 figures (Fine-tune, oEWC, SI, LwF, Joint): no runs yet" in rest
    [first, *_] = [line for line in count.rest if line.startswith("Seq-CORe50")]
    assert "images" in first
    named = sum(int(line.split(": ")[1].split()[0]) for line in count.rest)
    assert named == 439


def test_a_number_that_the_paper_lacks_is_no_verdict(
    make_run: Any, tmp_path: Path
) -> None:
    for seed in range(2):
        make_run(
            *("CLS-ER", "seq_core50"),
            **{"memory": 500, "domains": 11, "seed": seed, "data": "core50_128x128"},
        )
    count = counted(tmp_path)
    # Its authors ran out of memory after domain 9; forward transfer is not made up.
    assert count.verdicts["without a number in the paper"] == 3
    assert count.verdicts.total() == 6


@pytest.mark.parametrize(
    "other", [{"domains": 3}, {"data": "mnist-5000"}, {"train_per_domain": 100}]
)
def test_other_data_do_not_count(
    other: dict[str, Any], make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist")
    make_run("DER++", "rotated_mnist", output=tmp_path / "other", **other)
    assert counted(tmp_path).verdicts.total() == 6


def test_a_report_without_the_papers_benchmarks_has_no_count(
    make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run("ER", domains=3)
    assert coverage(tables_of(collect([tmp_path]).runs)) is None
    assert main(["report", str(tmp_path)]) == 0
    assert "of the paper's" not in capsys.readouterr().out


def test_a_method_with_several_rows_counts_once_by_the_first(
    make_run: Any, tmp_path: Path
) -> None:
    """The tuned settings come after the default, whatever they reach."""
    for seed in range(2):
        make_run("UDIL", accuracy=50.0 + seed, seed=seed)
        make_run("UDIL", accuracy=94.0 + seed / 2, lr=0.123, seed=seed)
    table = tables_of(collect([tmp_path]).runs)[0]
    [first, second] = [row for row in table.rows if row.method == "UDIL"]
    verdict = first.figures["avg_acc"].verdict
    assert verdict != second.figures["avg_acc"].verdict
    assert counted(tmp_path).verdicts[verdict] >= 1
    assert counted(tmp_path).verdicts.total() == 2

"""What a search chose has a table of its own and leaves the others as they are."""

import re
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.report.collect import collect
from udil_avalanche.report.searches import (
    search_tables,
    searches_below,
    without_finals,
)
from udil_avalanche.report.tables import tables_of
from udil_avalanche.runs.search_record import (
    SearchedMethod,
    SearchRecord,
    TriedSettings,
)

SEEDS = (0, 1, 2)


@pytest.fixture
def searched(make_run: Any, tmp_path: Path) -> SearchRecord:
    """ER and SI by their usual settings and by what a search chose."""
    methods = []
    for strategy in ("ER", "SI"):
        usual = resolve(strategy, "hd_balls")
        finals = []
        for seed in SEEDS:
            options = {"seed": seed, "epochs": 10}
            make_run(strategy, accuracy=70.0 + seed, lr=usual.lr, **options)
            run = make_run(strategy, accuracy=80.0 + seed, lr=0.123, **options)
            finals.append(f"hd_balls/{run.name}")
        tried = [
            TriedSettings(settings="lr=0.123", accuracy=81.5, seconds=90.0),
            TriedSettings(settings="lr=0.5", accuracy=61.5, seconds=120.0),
        ]
        methods.append(
            SearchedMethod(
                strategy=strategy,
                benchmark="hd_balls",
                trials=2 if strategy == "ER" else 3,
                tried=tuple(tried),
                finals=tuple(finals),
            )
        )
    record = SearchRecord(
        name="equal_trials_hd_balls",
        command="sweep configs/sweeps/equal_trials_hd_balls.yaml",
        seeds=(100, 101),
        domains=5,
        validation=0.1,
        methods=tuple(methods),
    )
    record.write(tmp_path / "runs" / "chosen" / "equal_trials_hd_balls")
    return record


def test_the_main_tables_stay_as_they_are(
    searched: SearchRecord, tmp_path: Path
) -> None:
    runs = collect([tmp_path]).runs
    [found] = searches_below([tmp_path, tmp_path / "runs"]).values()
    assert found == searched
    [table] = tables_of(without_finals(runs, [found]))
    rows = {row.name: row.group.accuracy.mean for row in table.rows if row.group.runs}
    assert rows == {"ER": 71, "SI": 71}
    [own] = search_tables([found], runs)
    rows = {row.name: row.group.accuracy.mean for row in own.table.rows}
    assert rows == {"ER": 81, "SI": 81}
    assert [own.entries(row) for row in own.table.rows] == [
        ("2 of 3", "4 min", "lr=0.123"),
        ("2", "4 min", "lr=0.123"),
    ]


def test_a_choice_that_is_configured_anyway_stays_in_the_main_table(
    make_run: Any, tmp_path: Path
) -> None:
    """By the usual settings of HD-Balls, which a search may well choose."""
    usual = resolve("ER", "hd_balls")
    settings = {key: getattr(usual, key) for key in ("lr", "clip_norm", "anneal")}
    runs = [make_run("ER", **settings), make_run("ER", **settings | {"lr": 0.123})]
    method = SearchedMethod(
        strategy="ER",
        benchmark="hd_balls",
        trials=1,
        tried=(TriedSettings(settings="", accuracy=1.0, seconds=1.0),),
        finals=tuple(f"hd_balls/{run.name}" for run in runs),
    )
    record = SearchRecord(
        name="a",
        command="",
        seeds=(100,),
        domains=5,
        validation=0.1,
        methods=(method,),
    )
    left = without_finals(collect([tmp_path]).runs, [record])
    assert [run.folder for run in left] == [runs[0]]


def test_markdown_page_and_kept_results_have_the_table(
    searched: SearchRecord, tmp_path: Path
) -> None:
    kept, files = tmp_path / "results", [tmp_path / "a.md", tmp_path / "a.html"]
    outputs = ["--markdown", str(files[0]), "--html", str(files[1])]
    assert main(["report", str(tmp_path / "runs"), "--keep", str(kept), *outputs]) == 0
    [copy] = searches_below([kept]).values()
    assert copy == searched
    text, page = (file.read_text() for file in files)
    assert "## Equal trials: HD-Balls, 400 samples in memory" in text
    assert "Each method had 2-3 settings to try, on the first 5 domains" in text
    assert "sweep configs/sweeps/equal_trials_hd_balls.yaml" in text
    assert "lr=0.123" in page
    [row] = re.findall(r"^\| 400 \| ER \|.* \| 2 \| 4 min \| lr=0.123 \|$", text, re.M)
    assert "81.0 ± 1.0" in row and "(#cell-hd_balls-ER-m400-s0-" in row
    anchors = set(re.findall(r'<a id="([^"]+)">', text))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    assert set(re.findall(r'href="#(cell-[^"]+)"', page)) <= set(
        re.findall(r'id="([^"]+)"', page)
    )
    first = files[0].read_text()
    assert main(["report", str(kept), "--markdown", str(files[0])]) == 0
    assert files[0].read_text() == first, "made again from what is kept"


def test_two_searches_of_the_same_name_are_refused(
    searched: SearchRecord, tmp_path: Path
) -> None:
    other = searched.model_copy(update={"domains": 3})
    other.write(tmp_path / "other" / "chosen" / "equal_trials_hd_balls")
    with pytest.raises(SettingsError, match="different searches of the same name"):
        searches_below([tmp_path])


def test_a_search_that_only_chose_has_no_table(tmp_path: Path) -> None:
    record = SearchRecord(
        name="rates", command="", seeds=(100,), domains=None, validation=0.1, methods=()
    )
    record.write(tmp_path)
    assert searches_below([tmp_path]) == {}

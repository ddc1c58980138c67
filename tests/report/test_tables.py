import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche import recipes
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.identity import identity
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.report import paper
from udil_avalanche.report.collect import collect
from udil_avalanche.report.paper import (
    MEMORY_SIZES,
    METHODS,
    PAPER_METHODS,
)
from udil_avalanche.report.rerun_commands import rerun_command
from udil_avalanche.report.seed_groups import seed_groups_of
from udil_avalanche.report.statistic import Statistic
from udil_avalanche.report.tables import Row, Table, tables_of
from udil_avalanche.runs.run_folder import RunFolder


def tables(*places: Path) -> list[Table]:
    return tables_of(collect(places).runs)


def row_of(table: Table, method: str) -> Row:
    [row] = [row for row in table.rows if row.method == method]
    return row


def test_all_methods_that_can_be_run_in_the_order_of_the_paper() -> None:
    assert sorted(METHODS) == sorted(recipes.METHODS)
    shown = [method for method in METHODS if method in PAPER_METHODS]
    assert shown == list(PAPER_METHODS)
    assert METHODS[-1] == "Joint"


@pytest.mark.parametrize(
    ("place", "mean", "deviation"),
    [
        (("hd_balls", 400, "UDIL", "avg_acc"), 86.872, 0.195),
        (("hd_balls", 400, "Fine-tune", "forgetting"), 43.520, 0.079),
        (("permuted_mnist", 200, "GEM", "avg_acc"), 86.729, 0.203),
        (("hd_balls", 400, "Joint", "avg_acc"), 91.083, 0.332),
    ],
)
def test_the_figures_of_the_paper(
    place: tuple[str, int, str, str], mean: float, deviation: float
) -> None:
    assert paper.figure(*place) == Statistic(mean, deviation)


def test_what_the_paper_does_not_have() -> None:
    assert paper.figure("hd_balls", 200, "UDIL", "avg_acc") is None
    assert paper.figure("hd_balls", 400, "Joint", "forgetting") is None
    assert paper.figure("seq_core50", 500, "CLS-ER", "avg_acc") is None
    for benchmark, sizes in MEMORY_SIZES.items():
        for memory in sizes:
            assert paper.figure(benchmark, memory, "UDIL", "avg_acc") is not None


def test_mean_and_deviation_over_seeds(make_run: Any, tmp_path: Path) -> None:
    for seed, accuracy in enumerate([80.0, 82.0, 87.0]):
        make_run("ER", accuracy=accuracy, lost=seed, seed=seed)
    [table] = tables(tmp_path)
    er = row_of(table, "ER")
    assert er.group.seeds == [0, 1, 2]
    # Slowly: the mean is 83, the squares are 9 + 1 + 16, and 26 / 2 = 13.
    assert er.figures["avg_acc"].ours == Statistic(83.0, pytest.approx(13**0.5))
    forgetting = er.figures["forgetting"].ours
    assert forgetting is not None
    expected = sum(lost * 20 / 19 for lost in range(3)) / 3
    assert forgetting.mean == pytest.approx(expected)
    assert er.figures["avg_acc"].paper == Statistic(82.255, 1.552)
    assert er.figures["avg_acc"].difference == "+0.7"


def test_one_seed_has_no_deviation_and_no_verdict(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", accuracy=99.0, lost=0.5)
    [table] = tables(tmp_path)
    figure = row_of(table, "ER").figures["avg_acc"]
    assert figure.ours == Statistic(99.0, None)
    assert figure.verdict == ""


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        # The paper's 82.255 +- 1.552.
        ([83.0, 84.0], ""),
        ([84.0, 85.0], "better"),
        ([80.0, 90.0], ""),
        ([75.0, 75.5], "worse"),
    ],
)
def test_a_verdict_only_outside_both_deviations(
    ours: list[float], verdict: str, make_run: Any, tmp_path: Path
) -> None:
    for seed, accuracy in enumerate(ours):
        make_run("ER", accuracy=accuracy, seed=seed)
    [table] = tables(tmp_path)
    assert row_of(table, "ER").figures["avg_acc"].verdict == verdict


def test_more_forgetting_than_the_paper_is_worse(make_run: Any, tmp_path: Path) -> None:
    for seed in range(2):
        make_run("ER", accuracy=60.0, lost=30.0 + seed, seed=seed)
    [table] = tables(tmp_path)
    assert row_of(table, "ER").figures["forgetting"].verdict == "worse"


def test_best_and_second_best_leave_joint_training_out(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", accuracy=80.0, lost=4.0)
    make_run("UDIL", accuracy=85.0, lost=9.0)
    make_run("SI", accuracy=50.0, lost=2.0)
    make_run("Joint", accuracy=95.0)
    [table] = tables(tmp_path)

    def ranks(metric: str) -> dict[str, int]:
        measured = [row for row in table.rows if row.group.runs]
        return {row.method: row.figures[metric].rank for row in measured}

    assert ranks("avg_acc") == {"SI": 0, "ER": 2, "UDIL": 1, "Joint": 0}
    assert ranks("forgetting") == {"SI": 1, "ER": 2, "UDIL": 0, "Joint": 0}


def test_a_method_without_runs_has_a_row_without_figures(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER")
    [table] = tables(tmp_path)
    assert [row.method for row in table.rows] == list(PAPER_METHODS)
    gem = row_of(table, "GEM")
    assert not gem.group.runs
    assert gem.figures["avg_acc"].ours is None
    assert gem.figures["avg_acc"].paper == Statistic(69.747, 0.656)


def test_each_memory_size_has_a_table_with_the_methods_that_have_none(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist", memory=200)
    make_run("ER", "rotated_mnist", memory=800, accuracy=90.0)
    make_run("SI", "rotated_mnist")
    small, large = tables(tmp_path)
    assert (small.memory, large.memory) == (200, 800)
    for table in (small, large):
        assert row_of(table, "SI").group.runs
        assert row_of(table, "SI").memory == "-"
        assert row_of(table, "Joint").memory == "∞"
    assert row_of(small, "ER").figures["avg_acc"].paper != (
        row_of(large, "ER").figures["avg_acc"].paper
    )


def test_a_table_has_all_metrics_of_the_papers(make_run: Any, tmp_path: Path) -> None:
    """Quarters of the stream, from the stored matrix; and forward transfer only where
    the paper has it."""
    for seed in range(2):
        make_run("ER", "rotated_mnist", accuracy=70.0 + seed, lost=9.5, seed=seed)
    make_run("ER", "rotated_mnist", domains=5)
    table, other = tables(tmp_path)
    quarters = ["avg_acc_1_5", "avg_acc_6_10", "avg_acc_11_15", "avg_acc_16_20"]
    assert table.metrics == [*quarters, "avg_acc", "forgetting"]
    assert other.metrics == ["avg_acc", "forgetting"], "not the paper's data"
    figures = row_of(table, "ER").figures
    assert list(figures) == table.metrics
    # 70 and 71 percent after the last domain, 10 more after each earlier one.
    for metric, mean in zip(quarters, (80.5, 80.5, 80.5, 78.5), strict=True):
        ours, theirs = figures[metric].ours, figures[metric].paper
        assert ours is not None and theirs is not None
        assert ours.mean == pytest.approx(mean)
        assert ours.deviation == pytest.approx(0.5**0.5)
        assert theirs == paper.figure("rotated_mnist", 400, "ER", metric)
        assert figures[metric].rank == 1
    assert "forward_transfer" in paper.metrics("seq_core50")


def test_different_settings_of_a_method_are_never_mixed(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", lr=0.1, accuracy=70.0)
    make_run("ER", lr=0.5, accuracy=80.0)
    make_run("ER", lr=0.5, accuracy=82.0, seed=1)
    [table] = tables(tmp_path)
    found = {
        row.group.variant: row.figures["avg_acc"].ours
        for row in table.rows
        if row.group.runs
    }
    assert found == {
        "lr=0.1": Statistic(70.0),
        "lr=0.5": Statistic(81.0, pytest.approx(2**0.5)),
    }


def test_the_machine_of_a_run_does_not_matter(make_run: Any, tmp_path: Path) -> None:
    make_run("ER", threads=1)
    make_run("ER", threads=2, seed=1, output=tmp_path / "elsewhere")
    [group] = seed_groups_of(collect([tmp_path]).runs)
    assert group.seeds == [0, 1]
    assert group.variant == ""


def test_different_data_make_another_table(make_run: Any, tmp_path: Path) -> None:
    make_run("ER")
    make_run("ER", domains=3)
    whole, other = tables(tmp_path)
    assert whole.problem == {}
    assert other.problem == {"domains": 3}
    assert row_of(whole, "ER").figures["avg_acc"].paper is not None
    assert row_of(other, "ER").figures["avg_acc"].paper is None


def test_fewer_training_samples_are_named_by_the_row_or_by_the_title(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", train_per_domain=100)
    [table] = tables(tmp_path)
    assert "(train_per_domain=100)" in table.title
    assert row_of(table, "ER").name == "ER"
    assert row_of(table, "ER").figures["avg_acc"].paper is not None
    make_run("SI")
    [table] = tables(tmp_path)
    assert table.title == "HD-Balls, 400 samples in memory"
    assert row_of(table, "ER").name == "ER (train_per_domain=100)"
    assert row_of(table, "SI").name == "SI"


@pytest.mark.parametrize("data", ["mnist-5000", "folders:seasons"])
def test_other_data_by_name(data: str, make_run: Any, tmp_path: Path) -> None:
    make_run("ER", "rotated_mnist", data=data)
    [table] = tables(tmp_path)
    assert table.problem == {"data": data}
    paper = row_of(table, "ER").figures["avg_acc"].paper
    assert (paper is not None) == (data == "mnist-5000"), "fewer of the same"


def test_runs_for_choosing_settings_are_left_out(make_run: Any, tmp_path: Path) -> None:
    reported = make_run("ER", seed=99)
    by_validation = make_run("ER", validation=0.1)
    by_seed = make_run("ER", seed=100)
    unfinished = make_run("ER", seed=1)
    (unfinished / "done").unlink()
    found = collect([tmp_path])
    assert [run.folder for run in found.runs] == [reported]
    assert sorted(found.left_out.values()) == sorted(
        [[by_validation], [by_seed], [unfinished]]
    )


def test_a_damaged_run_is_named_and_stops_no_report(
    make_run: Any, tmp_path: Path
) -> None:
    whole, damaged = make_run("ER"), make_run("ER", seed=1)
    (damaged / "result.json").write_text("{}")
    found = collect([tmp_path])
    assert [run.folder for run in found.runs] == [whole]
    [(reason, folders)] = found.left_out.items()
    assert folders == [damaged]
    assert reason.startswith("damaged: ") and str(damaged) in reason


def test_the_peak_memory_is_that_of_the_runs_that_have_it(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER")
    make_run("ER", seed=1)
    first, second = collect([tmp_path]).runs
    [group] = seed_groups_of([first, second])
    assert group.peak_memory == 512
    without = replace(first, result={**first.result, "peak_memory_mb": None})
    [group] = seed_groups_of([without, second])
    assert group.peak_memory == 512
    [group] = seed_groups_of([without])
    assert group.peak_memory is None


def test_one_slow_run_does_not_spoil_the_time(make_run: Any, tmp_path: Path) -> None:
    for seed, seconds in enumerate((60.0, 900.0, 70.0)):
        make_run("ER", seed=seed, seconds=seconds)
    [group] = seed_groups_of(collect([tmp_path]).runs)
    assert group.seconds == 70


def test_a_copy_counts_once_unless_it_differs(make_run: Any, tmp_path: Path) -> None:
    folder = make_run("ER")
    copy = tmp_path / "copy" / "hd_balls" / folder.name
    shutil.copytree(folder, copy)
    assert len(collect([tmp_path, tmp_path]).runs) == 1
    shutil.rmtree(folder)
    make_run("ER", accuracy=81.0)
    with pytest.raises(SettingsError, match="different results") as caught:
        collect([tmp_path])
    assert str(folder) in str(caught.value) and str(copy) in str(caught.value)


def test_settings_newer_than_the_run_have_their_defaults(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", unknown=("anneal",))
    make_run("ER", seed=1)
    [group] = seed_groups_of(collect([tmp_path]).runs)
    assert group.seeds == [0, 1]


def test_a_run_of_an_older_version_counts_once_unless_it_differs(
    make_run: Any, tmp_path: Path
) -> None:
    older = make_run("ER", unknown=("anneal",))
    older.rename(older.with_name("ER-m400-s0-01dd4e55"))
    make_run("ER")
    [group] = seed_groups_of(collect([tmp_path]).runs)
    assert group.seeds == [0]
    make_run("ER", seed=1, unknown=("anneal",)).rename(tmp_path / "older")
    make_run("ER", seed=1, accuracy=81.0)
    with pytest.raises(SettingsError, match="different results"):
        collect([tmp_path])


def test_a_removed_setting_does_not_stop_a_report(
    make_run: Any, tmp_path: Path
) -> None:
    file = make_run("ER") / "result.json"
    result = json.loads(file.read_text())
    result["settings"]["once"] = 1
    RunFolder(file.parent).finish(result)
    make_run("ER", seed=1)
    runs = collect([tmp_path]).runs
    assert [group.variant for group in seed_groups_of(runs)] == ["once=1", "once=null"]
    assert "once" not in rerun_command(runs[0])


def test_runs_with_the_same_name_and_different_data_are_refused(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist", output=tmp_path / "few", data="mnist-5000")
    make_run("ER", "rotated_mnist", output=tmp_path / "all")
    with pytest.raises(SettingsError, match="the same name but different data"):
        collect([tmp_path])


def test_the_command_of_a_run_that_is_invalid_with_the_configured_domains(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", memory=10, domains=5)
    [run] = collect([tmp_path]).runs
    assert "--memory 10 --seed 0" in rerun_command(run)
    assert "domains=5" in rerun_command(run)


def test_the_command_of_a_run_does_not_name_the_folder_of_mnist(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist", root=str(tmp_path / "datasets"))
    [run] = collect([tmp_path / "runs"]).runs
    assert "data=" not in rerun_command(run)


def test_a_title_names_changed_data_and_the_memory() -> None:
    assert paper.task_title("hd_balls", {}, None) == "HD-Balls"
    assert (
        paper.task_title("folders", {"domains": 5}, 400)
        == "folders (domains=5), 400 samples in memory"
    )


@pytest.mark.parametrize("epochs", [5, 10])
def test_a_command_has_the_switches_that_bring_other_defaults(
    epochs: int, make_run: Any, tmp_path: Path
) -> None:
    """Five epochs are the default without frozen=true, ten are with it."""
    make_run("ER", "folders", frozen=True, epochs=epochs, domains=3, root="photos")
    [run] = collect([tmp_path]).runs
    command = rerun_command(run)
    assert "frozen=True" in command
    assert ("epochs=5" in command) == (epochs == 5)
    words = shlex.split(command)
    repeated = resolve(
        "ER",
        "folders",
        overrides=[word for word in words if "=" in word],
        options={"memory": run.memory, "seed": run.seed},
    )
    assert identity(repeated) == identity(run.all_settings)

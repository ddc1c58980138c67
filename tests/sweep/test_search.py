from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from udil_avalanche.benchmarks.shifts import draw_permutations, draw_rotations
from udil_avalanche.cli.main import main
from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import as_dict
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.search_record import read_search
from udil_avalanche.sweep.grid import Sweep, load_sweep
from udil_avalanche.sweep.search import (
    choose,
    final_runs,
    search_record,
    write_choice,
)

RATES = [0.1, 0.2, 0.5]


@pytest.fixture
def search(tmp_path: Path) -> Sweep:
    written = {
        "strategies": ["ER", "SI"],
        "benchmarks": ["hd_balls"],
        "memory": 50,
        "seeds": [100, 101],
        "settings": {"epochs": 3},
        "search": {"trials": 3, "validation": 0.2, "ranges": {"all": {"lr": RATES}}},
    }
    file = tmp_path / "rates.yaml"
    file.write_text(yaml.dump(written))
    options = {"output": str(tmp_path / "runs"), "threads": 1}
    return load_sweep(file, options=options)


def finish(run: Any, accuracy: float | None, data: str = "hd_balls") -> None:
    folder = RunFolder.of(run)
    folder.begin(run)
    versions = {"commit": "0123456789abcdef"}
    result = {"avg_acc": accuracy, "seconds": 1.0, "versions": versions}
    folder.finish({**result, "data": data})


def test_the_best_on_average_over_the_seeds_is_chosen(search: Sweep) -> None:
    accuracies = {
        ("ER", 0.1): (80.0, 80.0),
        ("ER", 0.2): (99.0, 50.0),
        ("ER", 0.5): (81.0, 82.0),
        ("SI", 0.1): (60.0, 60.0),
        ("SI", 0.2): (50.0, 50.0),
        ("SI", 0.5): (None, 99.0),
    }
    for run in search.runs:
        finish(run, accuracies[run.strategy, run.lr][run.seed - 100])
    er, si = choose(search)
    assert er.best.in_words == "lr=0.5"
    assert er.best.accuracy == pytest.approx(81.5)
    assert [other.in_words for other in er.done[1:]] == ["lr=0.1", "lr=0.2"]
    assert si.best.in_words == "lr=0.1"
    assert si.trials == 3 and len(si.done) == 2, "one came to no accuracy"


def test_trials_that_are_not_done_on_all_seeds_do_not_count(search: Sweep) -> None:
    for run in search.runs:
        if run.strategy == "ER" and (run.lr == 0.1 or run.seed == 100):
            finish(run, 100 * run.lr)
    [er] = choose(search)
    assert er.best.in_words == "lr=0.1"
    assert len(er.done) == 1


def test_the_config_says_where_it_comes_from_and_can_be_used(
    search: Sweep, tmp_path: Path
) -> None:
    for run in search.runs:
        finish(run, 100 * run.lr)
    er, _ = choose(search)
    file = write_choice(er, tmp_path / "chosen", search)
    assert file == tmp_path / "chosen" / "hd_balls" / "er.yaml"
    text = file.read_text()
    assert "best of 3 settings (3 done)" in text
    assert "20% of the training data of hd_balls" in text
    assert "seeds 100-101; commit 0123456789" in text
    assert "#   50.00 lr=0.5\n#   20.00 lr=0.2\n#   10.00 lr=0.1\n" in text
    assert str(search.file.name) in text
    chosen = resolve("ER", "hd_balls", configs=tmp_path / "chosen")
    assert (chosen.lr, chosen.epochs) == (0.5, 3)
    assert (chosen.validation, chosen.seed, chosen.memory) == (0, 0, 400)
    assert chosen.output == "runs" and chosen.threads is None


def test_the_command_chooses_when_all_is_done(
    search: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in search.runs:
        finish(run, 100 * run.lr)
    output = str(tmp_path / "runs")
    assert main(["sweep", str(search.file), "--output", output]) == 0
    shown = capsys.readouterr().out
    assert "12 done (12 before), 0 running, 0 left, 0 failed" in shown
    for name in ("er", "si"):
        chosen = tmp_path / "runs" / "chosen" / "rates" / "hd_balls"
        assert (chosen / f"{name}.yaml").exists()
        assert f"{name}.yaml" in shown
    assert "ER on hd_balls: lr=0.5 is chosen, 50.00 %; see" in shown


def test_a_rehearsal_does_not_pass_for_the_search(
    search: Sweep, tmp_path: Path
) -> None:
    output = str(tmp_path / "runs")
    command = ["sweep", str(search.file), "--output", output, "domains=3"]
    overridden = load_sweep(
        search.file, options={"output": output}, overrides=["domains=3"]
    )
    for run in overridden.runs:
        finish(run, 50.0)
    assert main(command) == 0
    [er, _] = sorted((tmp_path / "runs" / "chosen").rglob("*.yaml"))
    assert er.parts[-3:] == ("rates+domains=3", "hd_balls", "er.yaml")
    assert f"sweep {search.file.as_posix()} domains=3: the best" in er.read_text()


def test_a_choice_is_named_by_what_makes_it_another_search(tmp_path: Path) -> None:
    def name(*overrides: str) -> str:
        return Sweep(tmp_path / "rates.yaml", overrides=overrides).name

    assert name("device=cuda", "save_every=5", "Output=a") == "rates"
    assert name("hidden=8", "domains=3") == name("domains=3", "hidden=8")
    assert name("data=some/photos") == "rates+data=some_photos"
    assert len({name("data=" + "x" * 300), name("data=" + "y" * 300), "rates"}) == 3
    assert len(name("data=" + "x" * 300)) < 100


def test_ranges_may_be_written_in_any_case(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    names = {"strategies": "UDIL", "benchmarks": "hd_balls", "seeds": 100}
    search = {"trials": 2, "ranges": {"all": {"c": [1, 2]}}}
    file.write_text(yaml.dump({**names, "search": search}))
    sweep = load_sweep(file, options={"output": str(tmp_path / "runs")})
    for run in sweep.runs:
        finish(run, run.C)
    [choice] = choose(sweep)
    assert [trial.in_words for trial in choice.done] == ["C=2.0", "C=1.0"]


def test_trials_with_other_data_are_not_compared(tmp_path: Path) -> None:
    """As when MNIST could not be fetched for some of them."""
    file = tmp_path / "rates.yaml"
    benchmarks = ["rotated_mnist", "hd_balls"]
    names = {"strategies": "ER", "benchmarks": benchmarks, "seeds": [100, 101]}
    ranges = {"all": {"lr": RATES}}
    file.write_text(yaml.dump({**names, "search": {"trials": 3, "ranges": ranges}}))
    sweep = load_sweep(file, options={"output": str(tmp_path / "runs")})
    few = []
    for number, run in enumerate(sweep.runs):
        fell_back = run.benchmark == "rotated_mnist" and number < 2
        finish(run, 50.0, data="mnist-5000" if fell_back else run.benchmark)
        few += [RunFolder.of(run).path.name] if fell_back else []
    choices = choose(sweep)
    assert next(choices).best.runs[0].benchmark == "hd_balls"
    with pytest.raises(SettingsError, match="other data than most") as said:
        next(choices)
    assert len(few) == 2 and all(name in str(said.value) for name in few)
    assert str(said.value).count("mnist-5000") == 2


def test_a_damaged_trial_does_not_count(
    search: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in search.runs:
        finish(run, 100 * run.lr)
        if run.strategy == "ER" and run.lr == 0.5:
            (RunFolder.of(run).path / "result.json").write_text("{")
    er, _ = choose(search)
    assert er.best.in_words == "lr=0.2"
    assert main(["sweep", str(search.file), "--output", str(tmp_path / "runs")]) == 1
    assert "2 failed" in capsys.readouterr().out


def test_a_choice_of_nothing_but_defaults_can_be_used(tmp_path: Path) -> None:
    default = resolve("ER", "hd_balls", configs=tmp_path)
    ranges = {"all": {"lr": [default.lr]}}
    file = tmp_path / "default.yaml"
    search = {"trials": 1, "ranges": ranges}
    names = {"strategies": "ER", "benchmarks": "hd_balls", "seeds": 100}
    file.write_text(yaml.dump({**names, "search": search}))
    sweep = load_sweep(
        file, options={"output": str(tmp_path / "runs")}, configs=tmp_path
    )
    finish(sweep.runs[0], 80.0)
    [choice] = choose(sweep)
    assert choice.best.in_words == f"lr={default.lr}"
    write_choice(choice, tmp_path / "chosen", sweep)
    chosen = resolve("ER", "hd_balls", configs=tmp_path / "chosen")
    assert as_dict(chosen) == as_dict(default)


@pytest.fixture
def blind(tmp_path: Path) -> Sweep:
    """A search that looks at the first two of four domains."""
    written = {
        "strategies": ["ER", "SI"],
        "benchmarks": ["hd_balls"],
        "memory": 50,
        "seeds": [100],
        "settings": {"domains": 4, "train_per_domain": 64, "test_per_domain": 32},
        "search": {
            "trials": 3,
            "domains": 2,
            "final_seeds": [0, 1],
            "ranges": {"all": {"lr": RATES}},
        },
    }
    file = tmp_path / "blind.yaml"
    file.write_text(yaml.dump(written))
    options = {"output": str(tmp_path / "runs"), "threads": 1}
    return load_sweep(file, options=options)


def test_trials_look_at_the_first_domains_only(blind: Sweep) -> None:
    assert {run.domains for run in blind.runs} == {2}
    assert {run.domains for run in blind.whole.values()} == {4}
    again = load_sweep(blind.file, overrides=["Domains=3"])
    assert {run.domains for run in again.runs} == {2}, "that is for the search to say"
    assert {run.domains for run in again.whole.values()} == {3}


def test_a_shorter_stream_has_the_domains_that_the_whole_begins_with() -> None:
    """So a trial sees what anybody sees who waits for the first domains, not, for
    instance, five angles from the whole range."""
    seed = torch.Generator().manual_seed
    for domains in (5, 20):
        for t, shift in enumerate(draw_rotations(domains, 9, seed(3))[:5]):
            assert 9 * t <= shift.keywords["degrees"] < 9 * (t + 1)
    few, many = (draw_permutations(domains, seed(3)) for domains in (5, 20))
    for short, whole in zip(few, many[:5], strict=True):
        assert torch.equal(short.keywords["order"], whole.keywords["order"])


def test_what_is_chosen_learns_the_whole_stream_on_reported_seeds(
    blind: Sweep, tmp_path: Path
) -> None:
    for run in blind.runs:
        finish(run, 100 * run.lr if run.strategy == "ER" else 90 - 100 * run.lr)
    choices = list(choose(blind))
    finals = final_runs(choices, blind)
    assert [(run.seed, run.strategy, run.lr) for run in finals] == [
        (0, "ER", 0.5),
        (0, "SI", 0.1),
        (1, "ER", 0.5),
        (1, "SI", 0.1),
    ]
    assert {(run.domains, run.validation) for run in finals} == {(4, 0)}
    assert {run.train_per_domain for run in finals} == {64}
    file = write_choice(choices[0], tmp_path / "chosen", blind)
    assert "on the first 2 domains" in file.read_text()
    by_file = resolve(
        *("ER", "hd_balls"),
        configs=tmp_path / "chosen",
        options={"memory": 50, "seed": 1},
    )
    assert RunFolder.of(by_file).path.name == RunFolder.of(finals[2]).path.name


def test_the_record_tells_the_trials_and_what_they_cost(
    blind: Sweep, tmp_path: Path
) -> None:
    for run in blind.runs:
        if (run.strategy, run.lr) != ("SI", 0.2):
            finish(run, 100 * run.lr)
    choices = list(choose(blind))
    record = search_record(choices, blind)
    file = record.write(tmp_path / "kept")
    assert read_search(file) == record
    er, si = record.methods
    assert [(each.settings, each.accuracy) for each in er.tried] == [
        ("lr=0.5", 50),
        ("lr=0.2", 20),
        ("lr=0.1", 10),
    ]
    assert (er.trials, er.seconds, si.trials, len(si.tried)) == (3, 3, 3, 2)
    assert (record.seeds, record.domains, record.validation) == ((100,), 2, 0.1)
    finals = [
        f"hd_balls/{RunFolder.of(e).path.name}" for e in final_runs(choices, blind)
    ]
    assert record.finals == set(finals) and len(set(finals)) == 4
    file.write_text(file.read_text().replace("trials", "trails"))
    with pytest.raises(SettingsError, match="not the file of a search"):
        read_search(file)


def test_one_command_tries_chooses_and_runs_what_was_chosen(
    blind: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "runs")
    command = ["sweep", str(blind.file), "--output", output, "hidden=8", "epochs=1"]
    assert main([*command, "--list"]) == 0
    assert "then the chosen settings of each method, on seeds 0-1" in (
        capsys.readouterr().out
    )
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "6 done, 0 running, 0 left, 0 failed" in shown
    assert "4 done, 0 running, 0 left, 0 failed" in shown
    record = read_search(next((tmp_path / "runs").rglob("search.json")))
    for final in record.finals:
        result = RunFolder(tmp_path / "runs" / final).result()
        assert len(result["accuracy_matrix"]) == 4
    assert main(command) == 0
    assert "4 done (4 before)" in capsys.readouterr().out
    markdown = tmp_path / "report.md"
    assert main(["report", output, "--markdown", str(markdown)]) == 0
    assert "Each method had 3 settings to try, on the first 2 domains" in (
        markdown.read_text()
    )

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.recipes import METHODS, as_dict
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.grid import load_sweep

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "run_experiments.py"


def test_the_tables_on_the_standard_output(
    all_methods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(all_methods)]) == 0
    shown = capsys.readouterr().out
    assert "## HD-Balls, 400 samples in memory" in shown
    lines = shown.splitlines()
    [udil] = [line for line in lines if "| UDIL |" in line]
    assert [entry.strip() for entry in udil.split("|")[1:-1]] == [
        "400",
        "UDIL",
        "0-2",
        "**81.0 ± 1.0**",
        "86.9 ± 0.2",
        "-5.9 ▼",
        "5.3 ± 0.0",
        "3.4 ± 0.4",
        "+1.8 ▼",
        "11 min",
        "512 MB",
    ]
    second, tested = [line for line in lines if "| ESM-ER |" in line]
    assert "| *79.0 ± 1.0* |" in second
    assert tested.startswith("| ESM-ER | **+2.00 ± 0.00** | 60 of 60 |")
    [joint] = [line for line in lines if "| Joint |" in line]
    assert joint.startswith("| ∞ | Joint | 0-2 | 83.0 ± 1.0 | 91.1 ± 0.3 |")
    assert re.search(r"torch \d", shown) and "cores" in shown
    tables = [part for part in shown.split("\n\n") if part.startswith("|")]
    assert len(tables) == 2, "the methods, and UDIL against each other one"
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_missing_rows_are_shown_as_missing(
    make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run("ER")
    assert main(["report", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "| 400 | GEM | missing | missing | 69.7 ± 0.7 | - |" in shown
    assert "- Permuted MNIST, 200 samples in memory: 42 figures (GEM, " in shown


def test_the_tables_in_a_file(
    all_methods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "made" / "RESULTS.md"
    assert main(["report", str(all_methods), "--markdown", str(file)]) == 0
    assert file.read_text().startswith("# Results\n")
    assert "| UDIL |" in file.read_text()
    assert capsys.readouterr().out == f"{file}\n"


def test_figures_in_a_file_lead_to_their_runs_and_commands(
    all_methods: Path, tmp_path: Path
) -> None:
    file = tmp_path / "made" / "RESULTS.md"
    assert main(["report", str(all_methods), "--markdown", str(file)]) == 0
    text = file.read_text()
    anchors = re.findall(r'<a id="([^"]+)">', text)
    n = len(METHODS)
    assert len(anchors) == len(set(anchors)) == n
    targets = re.findall(r"\]\(#([^)]+)\)", text)
    assert len(targets) == n + n - 1, "joint training has no forgetting"
    assert set(targets) == set(anchors)
    runs = re.findall(r"\[seed \d\]\(([^)]+)\)[^`]+`python run_experiments.py", text)
    assert len(runs) == 3 * n
    for address in runs:
        assert (file.parent / unquote(address) / "result.json").exists()


def test_a_missing_row_has_the_command_that_makes_it(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", memory=200, domains=5, seed=2)
    file = tmp_path / "RESULTS.md"
    assert main(["report", str(tmp_path), "--markdown", str(file)]) == 0
    commands = re.findall(r"- (\S+) on HD-Balls.*: `python (.*)`", file.read_text())
    by_method = dict(commands)
    assert len(by_method) == 11 and "ER" not in by_method
    assert by_method["UDIL"] == (
        "run_experiments.py --strategy UDIL --benchmark hd_balls --memory 200 "
        "--seed 2 domains=5"
    )
    assert by_method["SI"] == (
        "run_experiments.py --strategy SI --benchmark hd_balls --seed 2 domains=5"
    )


def test_no_command_for_data_that_no_setting_names(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist", data="mnist-5000")
    file = tmp_path / "RESULTS.md"
    assert main(["report", str(tmp_path), "--markdown", str(file)]) == 0
    assert "| 400 | GEM | missing |" in file.read_text()
    assert "Missing runs" not in file.read_text()


def test_the_command_for_a_missing_row_names_the_folder_that_is_the_task(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "folders", domains=2, data="folders:photos", root="my photos")
    file = tmp_path / "RESULTS.md"
    assert main(["report", str(tmp_path), "--markdown", str(file)]) == 0
    assert (
        "--benchmark folders --seed 0 domains=2 'data=my photos'`" in file.read_text()
    )


def test_the_command_for_a_missing_row_takes_as_few_samples_as_the_others(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", train_per_domain=500)
    file = tmp_path / "RESULTS.md"
    assert main(["report", str(tmp_path), "--markdown", str(file)]) == 0
    missing = "--strategy SI --benchmark hd_balls --seed 0 train_per_domain=500`"
    assert missing in file.read_text()


def test_a_report_does_not_import_torch(all_methods: Path) -> None:
    command = [sys.executable, "-X", "importtime", str(SCRIPT), "report"]
    answer = subprocess.run(
        [*command, str(all_methods)], capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 0
    assert "| UDIL |" in answer.stdout
    imported = {line.rpartition("|")[2].strip() for line in answer.stderr.splitlines()}
    assert not {"torch", "avalanche"} & imported


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["report"], "the following arguments are required: RUNS"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["report", "."], "no finished runs below ."),
        (["report", ".", "--sed"], "there is no option '--sed': did you mean --sweep?"),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    arguments: list[str],
    answer: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert answer in captured.err
    assert captured.err.count("\n") == 1


def test_small_files_are_kept_and_reported_from(
    make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run("UDIL", accuracy=80.0)
    (folder / "model.safetensors").write_bytes(b"large")
    kept, page = tmp_path / "results", tmp_path / "report.html"
    arguments = ["--keep", str(kept), "--html", str(page)]
    assert main(["report", str(tmp_path / "runs"), *arguments]) == 0
    there = kept / "hd_balls" / folder.name
    assert {file.name for file in there.iterdir()} == {
        "settings.yaml",
        "metrics.jsonl",
        "embeddings.json",
        "result.json",
        "done",
    }
    for name in ("settings.yaml", "result.json"):
        assert str(tmp_path) in (folder / name).read_text()
        assert str(tmp_path) not in (there / name).read_text()
    RunFolder(there).check()
    text = page.read_text()
    assert f'href="results/hd_balls/{folder.name}/"' in text
    assert "Coefficients of UDIL" in text and "Embeddings coloured by domain" in text

    make_run("ER", accuracy=70.0)
    capsys.readouterr()
    assert main(["report", str(tmp_path / "runs"), "--keep", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert "| **80.0** |" in shown and "| *70.0* |" in shown
    assert main(["report", str(kept)]) == 0
    assert capsys.readouterr().out == shown


def test_only_the_runs_of_a_sweep(
    tmp_path: Path, write_run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("strategies: [ER]\nbenchmarks: [hd_balls]\nseeds: [0]\n")
    [run] = load_sweep(sweep).runs
    settings = {**as_dict(run), "data": None, "output": tmp_path / "runs"}
    write_run(**settings, accuracy=71.0)
    write_run(**{**settings, "lr": 0.125}, accuracy=99.0, lost=0.5)
    assert main(["report", str(tmp_path / "runs"), "--sweep", str(sweep)]) == 0
    shown = capsys.readouterr().out
    assert "**71.0**" in shown and "99.0" not in shown
    assert "Runs left out: 1 not part of the sweep." in shown


def test_the_runs_of_several_sweeps_are_kept_together(
    tmp_path: Path, write_run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path / "runs"), "--keep", str(tmp_path / "results")]
    for strategy, accuracy in (("ER", 71.0), ("SI", 72.0), ("LwF", 73.0)):
        sweep = tmp_path / f"{strategy}.yaml"
        sweep.write_text(f"strategies: [{strategy}]\nbenchmarks: [hd_balls]\n")
        [run] = load_sweep(sweep).runs
        settings = {**as_dict(run), "data": None, "output": tmp_path / "runs"}
        write_run(**settings, accuracy=accuracy)
        if strategy != "LwF":
            arguments += ["--sweep", str(sweep)]
    assert main(["report", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "**72.0**" in shown and "*71.0*" in shown and "73.0" not in shown
    assert len(list((tmp_path / "results").rglob("result.json"))) == 2


@pytest.mark.parametrize("name", ["metrics.jsonl", "embeddings.json"])
def test_a_run_with_a_damaged_file_is_left_out(
    name: str, make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run("ER")
    damaged = make_run("UDIL") / name
    damaged.write_text(damaged.read_text()[:-20])
    page, kept = tmp_path / "report.html", tmp_path / "results"
    arguments = ["--html", str(page), "--keep", str(kept)]
    assert main(["report", str(tmp_path / "runs"), *arguments]) == 0
    assert len(list(kept.rglob("result.json"))) == 1
    assert main(["report", str(tmp_path / "runs")]) == 0
    assert f"{name} was altered after the run was done" in capsys.readouterr().out


def test_runs_are_not_kept_next_to_others(
    make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "results"
    other = make_run("UDIL", lambda_d=7.5)
    assert main(["report", str(tmp_path / "runs"), "--keep", str(kept)]) == 0
    shutil.rmtree(other)
    run = make_run("UDIL")
    again = [str(tmp_path / "runs"), "--keep", str(kept)]
    assert main(["report", *again]) == 2
    assert f"such as {kept / 'hd_balls' / other.name}" in capsys.readouterr().err
    assert not (kept / "hd_balls" / run.name).exists()
    assert main(["report", str(kept), *again]) == 0


def test_a_run_of_a_method_that_is_not_installed_is_named(
    tmp_path: Path, write_run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("ER", "hd_balls", tmp_path, accuracy=71.0)
    other = RunFolder(write_run("ER", "hd_balls", tmp_path, accuracy=72.0, seed=1))
    stored = other.result()
    settings = {**stored["settings"], "strategy": "Magic"}
    other.finish({**stored, "strategy": "Magic", "settings": settings})
    assert main(["report", str(tmp_path)]) == 0
    assert "not installed: Magic on hd_balls" in capsys.readouterr().out
    settings = {**stored["settings"], "lr": "fast"}
    other.finish({**stored, "settings": settings})
    assert main(["report", str(tmp_path)]) == 0
    assert "result.json: lr=fast: expected a number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"settings": None}, "settings is not a list of entries"),
        ({"strategy": "Magic"}, "strategy is not that of its settings"),
        ({"seconds": "long"}, "seconds is not a number"),
        ({"memory": "much"}, "memory is not a count"),
        ({"seed": 1.5}, "seed is not a count"),
        ({"accuracy_matrix": [["high"]]}, "accuracy_matrix is not a square matrix"),
        ({"avg_acc": 948.5}, "avg_acc is not a percentage"),
        ({"peak_memory_mb": "much"}, "peak_memory_mb is not a number"),
        ({"joint": None}, "joint is not true or false"),
        ({"versions": {}}, "its files are not those of a run"),
        ({"forward_transfer": 20.0}, "forward_transfer does not follow from the acc"),
        ({"avg_of_avg_acc": 99.0}, "avg_of_avg_acc does not follow from the accurac"),
        ({"random_accuracy": [1.0], "forward_transfer": 1.0}, "random_accuracy is not"),
        ({"seed": 7}, "seed is not that of its settings"),
        ({"memory": 7}, "memory is not that of its settings"),
    ],
)
def test_a_run_that_is_none_is_left_out_by_name(
    change: dict[str, Any],
    reason: str,
    tmp_path: Path,
    write_run: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_run("ER", "hd_balls", tmp_path, accuracy=71.0)
    other = RunFolder(write_run("ER", "hd_balls", tmp_path, accuracy=72.0, seed=1))
    other.finish({**other.result(), **change})
    assert main(["report", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert reason in shown and other.path.name in shown
    assert "**71.0**" in shown


def test_what_is_no_file_is_written_to_and_stays(
    tmp_path: Path, write_run: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    write_run("ER", "hd_balls", tmp_path / "runs", accuracy=71.0)
    runs, target = str(tmp_path / "runs"), tmp_path / "target.md"
    target.write_text("")
    (tmp_path / "link.md").symlink_to(target)
    assert main(["report", runs, "--markdown", str(tmp_path / "link.md")]) == 0
    assert (tmp_path / "link.md").is_symlink()
    assert "**71.0**" in target.read_text()
    assert main(["report", runs, "--markdown", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    assert main(["report", runs, "--markdown", str(tmp_path / "runs")]) == 1
    assert "is a folder" in capfd.readouterr().err


def test_a_standard_output_that_is_a_file_keeps_what_is_in_it(
    write_run: Any, tmp_path: Path
) -> None:
    write_run("ER", "hd_balls", tmp_path / "runs", accuracy=71.25)
    log = tmp_path / "log.md"
    log.write_text("before\n")
    command = [sys.executable, "-m", "udil_avalanche", "report", str(tmp_path / "runs")]
    with log.open("a") as out:
        command += ["--markdown", "/dev/stdout"]
        assert subprocess.run(command, stdout=out, timeout=120).returncode == 0
    assert log.read_text().startswith("before\n# Results\n")
    assert "/dev/stdout" not in log.read_text()

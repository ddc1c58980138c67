import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.recipes import BENCHMARKS, METHODS
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.lock import locked

SCRIPT = Path(__file__).parents[2] / "run_experiments.py"
TINY_BUT_EPOCHS = [
    "--strategy=UDIL",
    "--benchmark=hd_balls",
    "--domains=3",
    "--train-per-domain=200",
    "hidden=32",
    "dimensions=20",
    "test_per_domain=100",
    "threads=1",
]
TINY = [*TINY_BUT_EPOCHS, "--epochs=2"]


def start(*arguments: str, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    command = [sys.executable, *python, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--list"],
        ["--list", "--strategy", "UDIL", "--benchmark", "rotated_mnist"],
        ["--strategy", "UDLI", "--benchmark", "rotated_mnist"],
        ["--strategy", "UDIL", "--benchmark", "rotated_mnist", "lrr=1"],
    ],
)
def test_answers_do_not_wait_for_torch(arguments: list[str]) -> None:
    answer = start(*arguments, python=("-X", "importtime"))
    imported = {
        line.rpartition("|")[2].strip()
        for line in answer.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "udil_avalanche.recipes.settings" in imported
    slow = {"torch", "torchvision", "avalanche", "matplotlib", "pandas", "numpy"}
    assert not slow & imported


def test_help_comes_well_within_a_second() -> None:
    def seconds() -> float:
        begin = time.perf_counter()
        assert start("--help").returncode == 0
        return time.perf_counter() - begin

    # The best of a few, since other processes may keep the machine busy.
    assert min(seconds() for _ in range(5)) < 0.8


def test_list_names_strategies_and_benchmarks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for name in [*METHODS, *BENCHMARKS]:
        assert f"\n  {name} " in shown


def test_list_of_a_pair_shows_values_and_meanings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--list", "--strategy", "UDIL", "--benchmark", "hd_balls", "C=7"]
    assert main([*arguments, "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "\nC = 7.0 " in shown
    assert "\nseed = 3 " in shown
    assert "\nlambda_d = " in shown and "adversarial alignment" in shown
    assert "per_image_angles" not in shown


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--strategy", "UDLI"], "there is no strategy 'UDLI': did you mean UDIL?"),
        (["--list", "--strategy", "UDLI"], "did you mean UDIL?"),
        (["--sed", "3"], "there is no option '--sed': did you mean --seed?"),
        (["--sed=3"], "there is no option '--sed': did you mean --seed?"),
        (["--Memory", "3"], "did you mean --memory?"),
        (["--lambda-d", "3"], "there is no option '--lambda-d': write lambda_d=VALUE"),
        (["--lr=3"], "there is no option '--lr': write lr=3"),
        (["--memory"], "argument --memory: expected one argument"),
        ([*TINY, "0.1"], "'0.1' is not a setting: write key=value"),
        ([*TINY, "lrr=0.1"], "there is no setting 'lrr': did you mean lr?"),
        ([*TINY, "--seed", "one"], "seed=one: expected a whole number"),
        ([*TINY, "--memory", "-1"], "memory=-1: must be at least 0"),
        ([*TINY, "device=abacus"], "device=abacus: "),
    ],
)
def test_a_mistake_is_answered_in_one_line(
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
    assert not list(tmp_path.iterdir())


def test_from_the_command_to_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*TINY, f"--output={tmp_path / 'runs'}"]
    first = start(*arguments)
    assert first.returncode == 0, first.stderr
    [done] = tmp_path.rglob("done")
    result = json.loads((done.parent / "result.json").read_text())
    assert f"average accuracy  {result['avg_acc']:.2f} %" in first.stdout
    assert str(done.parent) in first.stdout
    # Without a terminal: a line for each domain, then the figures.
    domains, summary = first.stdout.splitlines()[:3], first.stdout.splitlines()[3:]
    assert [line.partition(":")[0] for line in domains] == [
        "domain 1/3",
        "domain 2/3",
        "domain 3/3",
    ]
    assert len(summary) == 7
    assert "\r" not in first.stdout and "\x1b" not in first.stdout

    second = start(*arguments, python=("-X", "importtime"))
    assert second.returncode == 0
    assert "| torch\n" not in second.stderr
    assert "done already" in second.stdout
    assert second.stdout.splitlines()[1:] == summary

    done.unlink()
    (done.parent / "metrics.jsonl").write_text("left over")
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "started but nothing was saved" in shown
    assert f"average accuracy  {result['avg_acc']:.2f} %" in shown
    assert "left over" not in (done.parent / "metrics.jsonl").read_text()


def test_an_interrupted_run_is_not_done(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*arguments: object, **keywords: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "build_strategy", interrupt)
    assert main([*TINY, f"--output={tmp_path}"]) == 130
    assert "stopped" in capsys.readouterr().err
    assert not list(tmp_path.rglob("done"))


def test_a_stopped_run_is_saved_and_says_how_to_go_on(tmp_path: Path) -> None:
    endless = [*TINY_BUT_EPOCHS, "--epochs=2000", "save_every=0"]
    arguments = [*endless, f"--output={tmp_path}"]
    command = [sys.executable, str(SCRIPT), *arguments]
    process = subprocess.Popen(command, text=True, stderr=subprocess.PIPE)
    while not list(tmp_path.rglob("state/0*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command resumes" in complaint
    assert len(complaint.splitlines()) == 1
    assert not list(tmp_path.rglob("done"))


def test_a_run_in_the_hands_of_another_process_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*TINY, f"--output={tmp_path}"]
    overrides = dict(argument.lstrip("-").split("=", 1) for argument in arguments)
    settings = resolve(
        options={key.replace("-", "_"): value for key, value in overrides.items()}
    )
    with locked(RunFolder.of(settings).path):
        assert main(arguments) == 1
    complaint = capsys.readouterr().err
    assert "is using" in complaint
    assert complaint.count("\n") == 1


def test_a_finished_run_that_was_tampered_with_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*TINY_BUT_EPOCHS, "--epochs=1", f"--output={tmp_path}"]
    assert main(arguments) == 0
    capsys.readouterr()
    [result] = tmp_path.rglob("result.json")
    content = json.loads(result.read_text())
    result.write_text(json.dumps(content | {"avg_acc": 99.9}))
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert "result.json was altered after the run was done" in captured.err
    assert "99.9" not in captured.out

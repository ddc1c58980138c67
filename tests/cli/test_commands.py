"""The commands, and how they are found."""

import subprocess
import sys
from pathlib import Path

import pytest

from udil_avalanche import __version__
from udil_avalanche.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAIR = ["--strategy", "ER", "--benchmark", "hd_balls"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_of_its_own(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    usage = capsys.readouterr().out.splitlines()[0]
    assert f" {command} " in usage
    assert usage.count("--strategy") == (command == "run")


def test_without_a_command_it_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, *PAIR, "--list") == shown(capsys, "run", *PAIR, "--list")
    assert shown(capsys, "seed=3", *PAIR, "--list") != shown(capsys, *PAIR, "--list")


def test_a_misspelt_command_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["swep", "file.yaml"]) == 2
    complaint = capsys.readouterr().err
    assert "there is no command 'swep': did you mean sweep?" in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_commands_and_options(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script = shown(capsys, "completion", shell)
    for word in ("udil-run", "sweep", "report", "--benchmark", "--markdown"):
        assert word in script


def test_the_completion_of_bash_is_a_script_that_bash_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = shown(capsys, "completion", "bash")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(
    "command", [["-m", "udil_avalanche"], [str(ROOT / "run_experiments.py")]]
)
def test_the_version(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command, "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            ["report", "results", "--html", "page.html", "more"],
            "'more' is out of place",
        ),
        (["completion", "bash", "more"], "'more' is out of place"),
        ([*PAIR, "--domain-power", "1"], "write objective_t_power=VALUE"),
        (["sweep", "f.yaml", "--lambda-d", "1"], "write lambda_d=VALUE"),
        ([*PAIR, "domain_power=1"], "it belongs to UDIL"),
        ([*PAIR, "skip_bad=1"], "it belongs to seq_core50, folders, arrays"),
        ([*PAIR, "lr=1", "LR=2"], "lr and LR are the same setting"),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(
    arguments: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    complaint = capsys.readouterr().err
    assert answer in complaint
    assert complaint.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} {ROOT / 'run_experiments.py'} --list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stderr == ""

"""The command that shows the versions of a model."""

import json
from pathlib import Path

import pytest

from tests.learner.test_history import ASIDE, model, records
from udil_avalanche.cli.main import main

__all__ = ["model", "records"]


def test_the_versions_on_the_terminal(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(model)]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[1].split() == [
        *("1", "-", "2026-01-01", "12:00", "<winter>", "300", "50"),
        *("90.0", "%", "90.0", "%"),
    ]
    [in_use] = [line for line in lines if "in use" in line and "*" in line]
    assert in_use.split()[:6] == ["*", "4", "2", "2026-04-01", "12:00", "summer"]
    assert "set aside: it costs" in shown
    _, _, accuracies = shown.partition("accuracy on each domain's reserve (%)")
    rows = [line.split() for line in accuracies.splitlines()[2:]]
    assert rows[2] == ["3", "70.0", "81.0", "95.0"]
    assert rows[3] == ["*", "4", "88.5", "85.0", "91.5"]


def test_all_that_is_known_as_json(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(model), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["current"] == 4
    assert [each["number"] for each in answer["versions"]] == [1, 2, 3, 4, 5, 6]
    assert [each["parent"] for each in answer["versions"]] == [None, 1, 2, 2, 4, 5]
    assert answer["versions"][2]["aside"] == ASIDE
    assert answer["versions"][3]["changes"]["$pring"]["after"] == 85.0


def test_the_page_in_a_file(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "made" / "history.html"
    assert main(["history", str(model), "--html", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert "<h1>my model: history</h1>" in file.read_text()


def test_the_page_on_the_standard_output(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where that is a file, as here, the file is added to, not replaced."""
    print("before", flush=True)
    assert main(["history", str(model), "--html", "/dev/stdout"]) == 0
    before, _, page = capfd.readouterr().out.partition("\n")
    assert before == "before"
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")


def test_a_folder_without_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(tmp_path)]) == 1
    assert "is not a model: make one by udil-run learn" in capsys.readouterr().err

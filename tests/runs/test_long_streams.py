"""Streams of many domains: what a domain costs does not grow with those before it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from udil_avalanche.errors import RunError, RunStopped
from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.evaluation.embeddings import MOST_SAMPLES, projected_embeddings
from udil_avalanche.evaluation.heat_map import heat_map
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.run_log import RunLog


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes the settings of a run of many tiny domains, without its pictures."""
    monkeypatch.setattr(experiment, "_draw", lambda *arguments: None)

    def make(strategy: str = "UDIL", **options: Any) -> RunSettings:
        tiny = {"domains": 12, "train_per_domain": 8, "test_per_domain": 4}
        model = {"dimensions": 4, "hidden": 4, "epochs": 1, "threads": 1, "memory": 24}
        options = {**tiny, **model, "output": str(tmp_path), **options}
        return resolve(strategy, "hd_balls", options=options, configs=None)

    return make


def plain_parts(settings: RunSettings, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much the part of each state that is no tensor takes, in characters."""
    sizes = []
    write = StateFolder.write

    def measured(self: StateFolder, state: Any) -> None:
        write(self, state)
        [newest] = sorted(self.path.glob("[0-9]*"))[-1:]
        sizes.append(len((newest / "state.json").read_text()))

    with monkeypatch.context() as patch:
        patch.setattr(StateFolder, "write", measured)
        run(settings)
    return sizes


def test_a_state_does_not_hold_what_was_measured(
    stream: Callable[..., RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = plain_parts(stream(), monkeypatch)
    assert len(sizes) == 12
    assert sizes[11] - sizes[6] < 2 * (sizes[6] - sizes[1]), "not by the square"
    assert sizes[11] < 1.5 * sizes[2]


def test_lines_are_appended(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    log = RunLog(file)
    log.end_experience({"domain": 1, "avg_acc": 50.0})
    inode = file.stat().st_ino
    log.end_experience({"domain": 2, "avg_acc": float("nan")})
    assert file.stat().st_ino == inode, "not a new file"
    assert log.lines == [
        {"domain": 1, "avg_acc": 50.0},
        {"domain": 2, "avg_acc": None},
    ]
    state = log.state_dict()
    assert "lines" not in state and len(json.dumps(state)) < 300

    with file.open("a") as behind:
        behind.write('{"domain": 3, "avg_')  # A kill in the middle of a line.
    resumed = RunLog(file)
    resumed.load_state_dict(state)
    assert resumed.lines == log.lines
    assert file.read_text().count("\n") == 2 and file.read_text().endswith("\n")
    resumed.end_experience({"domain": 3})
    assert resumed.experiences_done == 3

    file.write_text(file.read_text().replace("50.0", "90.0"))
    with pytest.raises(ValueError, match="was altered"):
        RunLog(file).load_state_dict(state)
    file.unlink()
    with pytest.raises(ValueError, match="No such file"):
        RunLog(file).load_state_dict(state)
    os.mkfifo(file)
    with pytest.raises(ValueError, match="not a regular file"):
        RunLog(file).load_state_dict(state)


def test_altered_measurements_are_not_resumed(
    stream: Callable[..., RunSettings],
) -> None:
    settings = stream("ER", domains=3)

    def stop(self: Any, *arguments: Any) -> None:
        raise RunStopped("stopped", 2)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunStopped):
        patch.setattr(experiment, "_write_model", stop)
        run(settings)
    metrics = RunFolder.of(settings).metrics
    whole = metrics.read_text()
    metrics.write_text(whole.replace('"avg_acc": ', '"avg_acc": 1'))
    with pytest.raises(RunError, match=r"metrics\.jsonl was altered"):
        run(settings)
    metrics.write_text(whole)
    result = run(settings)
    assert len(result["accuracy_matrix"]) == 3
    assert result["forgetting"] is not None


def test_old_domains_are_tested_every_so_often(
    stream: Callable[..., RunSettings],
) -> None:
    settings = stream("Fine-tune", domains=7, test_every=3, memory=0)
    thinned, whole = run(settings), run(stream("Fine-tune", domains=7, memory=0))
    matrices = thinned["accuracy_matrix"], whole["accuracy_matrix"]
    for t, (some, all_) in enumerate(zip(*matrices, strict=True), start=1):
        tested = [i for i, accuracy in enumerate(some, start=1) if accuracy is not None]
        everything = list(range(1, min(t + 1, 7) + 1))
        assert tested == (everything if t in (3, 6, 7) else [t, t + 1])
        for accuracy, expected in zip(some, all_, strict=True):
            assert accuracy in (None, expected)
    assert thinned["avg_acc"] == whole["avg_acc"]
    assert thinned["forward_transfer"] == whole["forward_transfer"]
    assert thinned["forgetting"] is None and thinned["avg_of_avg_acc"] is None
    assert (
        RunFolder.of(settings).path != RunFolder.of(stream("Fine-tune", memory=0)).path
    )


def test_rows_that_are_kept_elsewhere_are_put_back() -> None:
    metrics = DomainMetrics()
    metrics.trained_domains = [0, 1]
    for row, domain, accuracy in (
        (0, 0, 9.0),
        (1, 0, 80.0),
        (1, 1, 20.0),
        (2, 1, 70.0),
    ):
        metrics._set(row, domain, accuracy)
    whole = metrics.matrix
    metrics.rows_kept_elsewhere = 2
    state = metrics.state_dict()
    assert state["accuracies"] == [[0, 0, 9.0]]
    resumed = DomainMetrics()
    for _ in range(2):  # A run that resumes within a domain loads its state twice.
        resumed.load_state_dict(state)
        resumed.restore_row(1, [80.0, 20.0])
        resumed.restore_row(2, [None, 70.0])
    resumed.load_state_dict(state)
    assert torch.equal(torch.tensor(resumed.matrix[1, 1]), torch.tensor(whole[1, 1]))
    assert resumed.matrix[0].tolist() == [80.0, 20.0]
    assert resumed.initial[0] == 9.0


def test_the_embeddings_of_a_long_stream_are_few(
    make_model: Callable[[], Any], make_scenario: Callable[..., Any]
) -> None:
    scenario = make_scenario(domains=150, size=20)
    found = projected_embeddings(make_model().encoder, scenario)
    assert len(found["x"]) == 150 * (MOST_SAMPLES // 150)
    assert set(found["domain"]) == set(range(1, 151))


def test_a_large_matrix_has_the_same_components(monkeypatch: Any) -> None:
    from udil_avalanche.evaluation import embeddings

    values = (
        torch.randn(90, 60, dtype=torch.double)
        @ torch.diag(torch.arange(60.0)).double()
    )
    dense = embeddings._principal_components(values)
    monkeypatch.setattr(embeddings, "LARGEST_DENSE", 10)
    few = embeddings._principal_components(values)
    for one, other in zip(dense, few, strict=True):
        assert torch.allclose(one, other, rtol=1e-6, atol=1e-8)
    wide = embeddings._principal_components(values.T)
    assert wide[0].shape == (60, 2)


def test_the_picture_of_a_long_stream_is_small() -> None:
    picture = heat_map(torch.rand(1000, 1000).mul(100).numpy())
    assert max(picture.size) <= 1000

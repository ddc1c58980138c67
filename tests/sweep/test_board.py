import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.board import Board
from udil_avalanche.sweep.engine import Failed, Finished, Started
from udil_avalanche.sweep.live_table import LiveTable, summary


@pytest.fixture
def runs(tmp_path: Path) -> list[RunSettings]:
    options = {"output": str(tmp_path)}
    return [
        resolve(strategy, "hd_balls", options={**options, "seed": seed})
        for seed in (0, 1)
        for strategy in ("ER", "SI")
    ]


def finish(run: RunSettings, seconds: float, data: str = "hd_balls") -> None:
    folder = RunFolder.of(run)
    folder.begin(run)
    folder.finish({"avg_acc": 81.25, "seconds": seconds, "data": data})


def test_a_run_that_was_altered_has_failed_and_stops_no_other(runs: Any) -> None:
    finish(runs[0], 100.0)
    finish(runs[1], 100.0)
    (RunFolder.of(runs[0]).path / "result.json").write_text("{}")
    board = Board(runs, workers=1)
    assert (board.done_before, board.left) == (1, runs[2:])
    [failed] = board.failed.values()
    assert failed.run == runs[0]
    assert "result.json" in failed.reason
    assert "\n" not in failed.reason


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_from_what_has_been_done(runs: Any) -> None:
    er, si, er_again, si_again = runs
    finish(er, 100.0)
    clock = Clock()
    board = Board(runs, workers=2, clock=clock)
    assert (board.done_before, board.left) == (1, [si, er_again, si_again])
    assert board.seconds_left() == 3 * 100 / 2, "by what is known of any"

    board.note(Started(si))
    clock.now = 20.0
    board.note(Finished(si))
    assert board.done == 1
    assert board.seconds_left() == (100 + 20) / 2, "by what is known of each"

    board.note(Started(er_again))
    clock.now = 50.0
    assert board.seconds_left() == ((100 - 30) + 20) / 2
    board.note(Failed(er_again, "why"))
    board.note(Started(si_again))
    assert board.left == []
    assert board.seconds_left() == 20, "a single run has one worker"
    assert [failed.reason for failed in board.failed.values()] == ["why"]


def test_on_a_cluster_as_many_are_at_work_as_run(runs: Any) -> None:
    finish(runs[0], 100.0)
    board = Board(runs, workers=None, clock=Clock())
    assert board.seconds_left() == 300
    for run in runs[1:]:
        board.note(Started(run))
    assert board.seconds_left() == 100


def test_nothing_is_promised_before_anything_is_done(runs: Any) -> None:
    board = Board(runs, workers=2)
    assert board.seconds_left() is None
    assert summary(board) == "0 done, 0 running, 4 left, 0 failed"


def test_a_run_that_starts_again_counts_once(runs: Any) -> None:
    board = Board(runs, workers=2)
    board.note(Started(runs[0]))
    board.note(Started(runs[0]))
    assert len(board.running) == 1 and len(board.left) == 3
    finish(runs[0], 1.0)
    board.note(Finished(runs[0]))
    assert summary(board).startswith("1 done, 0 running, 3 left, 0 failed, until about")


def test_the_table_on_a_terminal(runs: Any) -> None:
    clock = Clock()
    board = Board(runs, workers=2, clock=clock)
    board.note(Started(runs[0]))
    folder = RunFolder.of(runs[0])
    folder.begin(runs[0])
    folder.write_metrics([{"domain": 7, "avg_acc": 81.25}])
    clock.now = 30.0
    shown = io.StringIO()
    console = Console(file=shown, width=100)
    console.print(LiveTable(board, console).render())
    running, counts = shown.getvalue().splitlines()[1:]
    shown_run = " ".join(running.split())
    assert shown_run == "ER on hd_balls, memory 400, seed 0 7/20 81.2 % 30 s"
    assert counts.strip() == "0 done, 1 running, 3 left, 0 failed"


def test_a_line_for_each_end_elsewhere(runs: Any) -> None:
    board = Board(runs, workers=2)
    shown = io.StringIO()
    finish(runs[0], 30.0)
    events = [Started(runs[0]), Finished(runs[0]), Failed(runs[1], "[why]")]
    table = LiveTable(board, Console(file=shown, width=200))
    with table.shown():
        for event in events:
            board.note(event)
            table.tell(event)
    assert shown.getvalue().splitlines() == [
        "1/4 ER on hd_balls, memory 400, seed 0: 81.2 % in 30 s",
        "2/4 SI on hd_balls, seed 0: FAILED: [why]",
    ]


def test_other_data_than_the_benchmarks_are_named(tmp_path: Path) -> None:
    options = {"output": str(tmp_path)}
    run = resolve("ER", "rotated_mnist", options=options)
    finish(run, 30.0, data="mnist-5000")
    shown = io.StringIO()
    table = LiveTable(Board([run], workers=1), Console(file=shown, width=200))
    table.tell(Finished(run))
    assert shown.getvalue().rstrip().endswith("30 s, on the data mnist-5000")

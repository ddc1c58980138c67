"""Real processes, killed by SIGKILL at arbitrary moments."""

import multiprocessing
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.cli.main import main
from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.runs.run_folder import RunFolder

Tiny = Callable[..., RunSettings]
Outcome = Callable[[RunSettings], Any]


@pytest.fixture(scope="module")
def start() -> Callable[[RunSettings], Any]:
    """Starts the command line in a separate process. A server that has torch loaded
    forks it, so that it does not take seconds to begin."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["udil_avalanche.runs.experiment"])

    def start(settings: RunSettings) -> Any:
        process = context.Process(target=main, args=(arguments(settings),))
        process.start()
        return process

    return start


def arguments(settings: RunSettings) -> Sequence[str]:
    values = as_dict(settings).items()
    return [f"{key}={'null' if value is None else value}" for key, value in values]


def run_killed_at(
    moments: Sequence[float], settings: RunSettings, start: Callable[[RunSettings], Any]
) -> int:
    """Start a run again and again, kill it each time after so many seconds, and let it
    finish at last. Returns how many of the kills hit it before that."""
    kills = 0
    for seconds in moments:
        process = start(settings)
        process.join(seconds)
        if process.is_alive():
            process.kill()
            kills += 1
        process.join()
    process = start(settings)
    process.join(120)
    assert process.exitcode == 0
    return kills


@pytest.mark.slow
def test_a_killed_run_comes_to_the_same_end(
    tiny: Tiny, outcome: Outcome, start: Callable[[RunSettings], Any], tmp_path: Path
) -> None:
    whole, killed = tiny("UDIL", tmp_path / "whole"), tiny("UDIL", tmp_path / "killed")
    run_killed_at([], whole, start)
    folder = RunFolder.of(killed)
    for _ in range(2):
        before = saved(folder)
        process = start(killed)
        # One state further; then it is in a step, or more likely in the next save.
        while saved(folder) <= before and process.is_alive():
            time.sleep(0.001)
        process.kill()
        process.join()
        assert saved(folder) > before
        assert not folder.is_done
    run_killed_at([], killed, start)
    assert outcome(killed) == outcome(whole)


def saved(folder: RunFolder) -> int:
    """How many states the run has saved so far."""
    return max((int(each.name) for each in folder.state.glob("0*")), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["UDIL", "DER++", "SI", "oEWC", "GEM", "CLS-ER"])
def test_twenty_kills_at_random_moments(
    strategy: str,
    tiny: Tiny,
    outcome: Outcome,
    start: Callable[[RunSettings], Any],
    tmp_path: Path,
) -> None:
    options = {"epochs": 6, "train_per_domain": 512}
    whole = tiny(strategy, tmp_path / "whole", **options)
    killed = tiny(strategy, tmp_path / "killed", **options)
    begin = time.monotonic()
    run_killed_at([], whole, start)
    duration = time.monotonic() - begin
    choice = random.Random(strategy)
    kills = run_killed_at(
        [choice.uniform(0, duration / 3) for _ in range(20)], killed, start
    )
    assert kills >= 5
    assert outcome(killed) == outcome(whole)

"""The commands that make runs: those that there are, and those that are missing."""

import shlex
from typing import Any

from udil_avalanche.recipes.resolve import CONFIGS, resolve
from udil_avalanche.report.collect import Run
from udil_avalanche.report.tables import Row, Table
from udil_avalanche.settings import BENCHMARKS, as_dict, keeps_samples

SCRIPT = "python run_experiments.py"

PLACE = ("device", "threads")
"""What does not tell runs apart but is needed to make one again: other devices and
other threads round differently."""


def command_again(run: Run) -> str:
    """The command line that makes this run again, with all that differs from what the
    configuration says by now.

    :param run: the run.
    """
    if not CONFIGS.is_dir():
        return f"{SCRIPT} --config {shlex.quote(str(run.folder / 'settings.yaml'))}"
    now = as_dict(resolve(run.method, run.benchmark))
    written = run.result["settings"]
    place = {key: written[key] for key in PLACE if key in written}
    changed = {
        key: value
        for key, value in (run.settings | place | _data(run)).items()
        if key in now and now[key] != value and key not in ("memory", "seed")
    }
    return _command(run.method, run.benchmark, run.memory, run.seed, changed)


def command_for_missing(table: Table, row: Row) -> str | None:
    """The command line that makes the first run of a row that has none, on the first
    seed that other rows of its table have; None if the table's data are none that a
    setting could name, as the digits that stand in for MNIST.

    :param table: the table.
    :param row: its row without runs.
    """
    settings = table.problem | table.fewer_samples
    if "data" in settings:
        data = _data(table.cells[0].runs[0])
        if not data:
            return None
        settings |= data
    seed = min(seed for cell in table.cells for seed in cell.seeds)
    return _command(row.method, table.benchmark, table.memory, seed, settings)


def _data(run: Run) -> dict[str, Any]:
    """The folder with the data, where it says what is learned; elsewhere it is any
    place with the files of the benchmark."""
    if not BENCHMARKS[run.benchmark].data_is_the_task:
        return {}
    return {"data": run.result["settings"]["data"]}


def _command(
    method: str, benchmark: str, memory: int | None, seed: int, settings: dict[str, Any]
) -> str:
    options = [f"--strategy {method}", f"--benchmark {benchmark}"]
    if keeps_samples(method):
        options.append(f"--memory {memory}")
    options.append(f"--seed {seed}")
    changed = [
        shlex.quote(f"{key}={'null' if value is None else value}")
        for key, value in settings.items()
    ]
    return " ".join([SCRIPT, *options, *changed])


__all__ = ["command_again", "command_for_missing"]

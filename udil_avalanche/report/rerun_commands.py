"""The commands that repeat runs, and those that make missing ones."""

import shlex
from collections.abc import Sequence
from typing import Any

from udil_avalanche.formatting import assignments
from udil_avalanche.recipes import BENCHMARKS, Role, as_dict
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.recipes.settings import role_of
from udil_avalanche.report import paper
from udil_avalanche.report.run import Run
from udil_avalanche.report.tables import Table

SCRIPT = "python run_experiments.py"

MACHINE = ("device", "threads")
"""Settings that do not distinguish runs but are needed to repeat one exactly: other
devices and numbers of threads round differently."""


def rerun_command(run: Run) -> str:
    """The command that repeats a run, with all settings that differ from the current
    configuration.

    :param run: the run.
    """
    switches = {
        name: True
        for name in BENCHMARKS[run.benchmark].defaults_with
        if run.settings.get(name)
    }
    now = as_dict(resolve(run.method, run.benchmark, options=switches))
    written = run.written_settings
    machine = {key: written[key] for key in MACHINE if key in written}
    changed = {
        key: value
        for key, value in (run.settings | machine | _data(run)).items()
        if key in now and now[key] != value and key not in ("memory", "seed")
    }
    changed = switches | changed
    return _command(run.method, run.benchmark, run.memory, run.seed, changed)


def missing_runs(tables: Sequence[Table]) -> dict[str, str]:
    """For each row without runs, in words, the command that makes the first one.

    It takes the first seed that other rows of the table have. Tables on data that no
    setting can name, such as the digits that replace MNIST, are left out.

    :param tables: the tables.
    """
    commands = {}
    for table in tables:
        settings = table.changes
        if "data" in settings:
            data = _data(table.groups[0].first)
            if not data:
                continue
            settings |= data
        seed = min(seed for group in table.groups for seed in group.seeds)
        for method in [row.method for row in table.rows if not row.group.runs]:
            commands[f"{method} on {table.title}"] = _command(
                method, table.benchmark, table.memory, seed, settings
            )
    return commands


def _data(run: Run) -> dict[str, Any]:
    """The data folder if it decides what is learned. For other benchmarks it is only
    where their files are."""
    field = type(run.all_settings).model_fields["data"]
    return {"data": run.all_settings.data} if role_of(field) is Role.TASK else {}


def _command(
    method: str, benchmark: str, memory: int | None, seed: int, settings: dict[str, Any]
) -> str:
    options = [f"--strategy {method}", f"--benchmark {benchmark}"]
    if paper.has_memory(method):
        options.append(f"--memory {memory}")
    options.append(f"--seed {seed}")
    return " ".join([SCRIPT, *options, *map(shlex.quote, assignments(settings))])

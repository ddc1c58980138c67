"""The command that makes a run again."""

import shlex
from typing import Any

from udil_avalanche.report.collect import Run
from udil_avalanche.resolve import CONFIGS, resolve
from udil_avalanche.settings import as_dict

SCRIPT = "python run_experiments.py"

PLACE = ("data", "threads")
"""What does not tell runs apart but is needed to make one again: other threads round
differently."""


def command_again(run: Run) -> str:
    """The command line that makes this run again, with all that differs from what the
    configuration says by now.

    :param run: the run.
    """
    if not CONFIGS.is_dir():
        return f"{SCRIPT} --config {shlex.quote(str(run.folder / 'settings.yaml'))}"
    options = [f"--strategy {run.method}", f"--benchmark {run.benchmark}"]
    chosen: dict[str, Any] = {"seed": run.seed}
    if run.memory:
        options.append(f"--memory {run.memory}")
        chosen["memory"] = run.memory
    options.append(f"--seed {run.seed}")
    now = as_dict(resolve(run.method, run.benchmark, options=chosen))
    written = run.result["settings"]
    place = {key: written[key] for key in PLACE if key in written}
    changed = [
        shlex.quote(f"{key}={'null' if value is None else value}")
        for key, value in (run.settings | place).items()
        if now[key] != value
    ]
    return " ".join([SCRIPT, *options, *changed])


__all__ = ["command_again"]

"""The command that makes a run again."""

import shlex
from typing import Any

from udil_avalanche.report.collect import Run
from udil_avalanche.resolve import CONFIGS, resolve
from udil_avalanche.run_folder import WITHOUT_EFFECT
from udil_avalanche.settings import as_dict

SCRIPT = "python run_experiments.py"


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
    changed = [
        shlex.quote(f"{key}={'null' if value is None else value}")
        for key, value in run.settings.items()
        if key not in WITHOUT_EFFECT and now[key] != value
    ]
    return " ".join([SCRIPT, *options, *changed])


__all__ = ["command_again"]

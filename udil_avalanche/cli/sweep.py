"""Do all runs of a sweep; those that are done are skipped."""

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.formatting import number_list
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.names import plain_name
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.board import Board
from udil_avalanche.sweep.engine import Event, cores, cores_of
from udil_avalanche.sweep.grid import Sweep, load_sweep
from udil_avalanche.sweep.live_table import LiveTable, summary
from udil_avalanche.sweep.local import run_locally
from udil_avalanche.sweep.ray_engine import run_on_ray
from udil_avalanche.sweep.search import (
    choose,
    final_runs,
    search_record,
    write_choice,
)
from udil_avalanche.sweep.titles import Titles

OPTIONS_OF_AN_ENGINE = {"local": ("workers",), "ray": ("address", "cpus", "gpus")}


def execute(given: argparse.Namespace) -> int:
    """Do all runs of a sweep that are not done.

    :param given: the options, and settings of every run as key=value.
    :return: the exit code: 1 if a run failed.
    :raises SettingsError: if something cannot be run.
    """
    _refuse_the_other_engine(given)
    overridden = [override.partition("=")[0] for override in given.settings]
    if "threads" in map(plain_name, overridden):
        raise SettingsError("in a sweep, set the threads of a run by --threads N")
    options = {"threads": given.threads}
    if given.output is not None:
        options["output"] = given.output
    planned = load_sweep(given.file, options=options, overrides=given.settings)
    title = Titles(planned.runs, planned.cells)
    if given.list:
        for run in planned.runs:
            print(f"{_state(run)}  {title(run)}  {RunFolder.of(run).path}")
        if planned.budget is not None and planned.budget.final_seeds:
            seeds = number_list(planned.budget.final_seeds)
            print(f"then the chosen settings of each method, on seeds {seeds}")
        return 0
    all_done = _do(given, planned.runs, title)
    if planned.budget is not None:
        finals = _choose(planned)
        if finals:
            all_done = _do(given, finals, Titles(finals)) and all_done
    return 0 if all_done else 1


def _do(given: argparse.Namespace, runs: Sequence[RunSettings], title: Titles) -> bool:
    """Do the runs that are not done, and say whether none has failed."""
    cores_of_a_run = max(map(cores_of, runs))
    workers = given.workers or max(1, cores() // cores_of_a_run)
    board = Board(runs, workers if given.engine == "local" else None)
    table = LiveTable(board, title=title)
    with table.shown():
        for event in _events(given, board.left, workers, cores_of_a_run):
            board.note(event)
            table.tell(event)
    print(summary(board))
    for failed in board.failed.values():
        print(f"failed: {title(failed.run)}: {failed.reason}")
    return not board.failed


def _state(run: RunSettings) -> str:
    try:
        return "done" if RunFolder.of(run).holds(run) else "left"
    except RunError:
        return "bad "  # Finished by other settings, or damaged.


def _refuse_the_other_engine(given: argparse.Namespace) -> None:
    for engine, names in OPTIONS_OF_AN_ENGINE.items():
        for name in names:
            if engine != given.engine and getattr(given, name) is not None:
                raise SettingsError(f"--{name} is an option of --engine {engine}")


def _events(
    given: argparse.Namespace,
    runs: Sequence[RunSettings],
    workers: int,
    cores_of_a_run: int,
) -> Iterator[Event]:
    if not runs:
        return iter(())
    if given.engine == "ray":
        cpus = given.cpus
        if cpus is None:
            here = given.address is None
            cpus = min(cores_of_a_run, cores()) if here else cores_of_a_run
        return run_on_ray(runs, address=given.address, cpus=cpus, gpus=given.gpus or 0)
    return run_locally(runs, workers=workers, threads=given.threads)


def _choose(planned: Sweep) -> list[RunSettings]:
    """Write down what the trials say, and return the runs that follow from it."""
    folder = Path(planned.runs[0].output) / "chosen" / planned.name
    choices = []
    for choice in choose(planned):
        best, run = choice.best, choice.best.runs[0]
        file = write_choice(choice, folder, planned)
        chosen = f"{best.in_words} is chosen, {best.accuracy:.2f} %"
        print(f"{run.strategy} on {run.benchmark}: {chosen}; see {file}")
        choices.append(choice)
    if choices:
        search_record(choices, planned).write(folder)
    return final_runs(choices, planned)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.usage = "%(prog)s FILE [options] [key=value ...]"
    parser.epilog = "key=value sets a setting of every run."
    parser.set_defaults(takes_settings=True)
    add = parser.add_argument
    add("file", metavar="FILE", help="YAML that says what to run")
    add("--engine", choices=("local", "ray"), default="local", help="where to run")
    add("--threads", type=_count, default=1, metavar="N", help="threads of a run")
    meaning = "how many runs at once; by default as many as there are cores for"
    add("--workers", type=_count, metavar="N", help=f"local: {meaning}")
    meaning = "a cluster that is running; by default one is started here"
    add("--address", metavar="HOST:PORT", help=f"ray: {meaning}")
    meaning = "CPUs of a run; by default one for each thread, and for each process"
    add("--cpus", type=_amount, metavar="N", help=f"ray: {meaning} that loads images")
    add("--gpus", type=_amount, metavar="N", help="ray: GPUs of a run; none by default")
    add("--output", metavar="DIR", help="folder for the run folders")
    add("--list", action="store_true", help="show the runs instead of doing them")


def _count(written: str) -> int:
    if not written.isdecimal() or int(written) < 1:
        raise argparse.ArgumentTypeError(f"{written} is not a whole number from 1 on")
    return int(written)


def _amount(written: str) -> float:
    try:
        amount = float(written)
    except ValueError:
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise argparse.ArgumentTypeError(f"{written} is not a number from 0 on")
    return amount

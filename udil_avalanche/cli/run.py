"""Learn the domains of a benchmark one after another.

torch and Avalanche are loaded only when the settings are right and there is something
to compute.
"""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from udil_avalanche.cli.parser import refuse_contradictions
from udil_avalanche.errors import RunError
from udil_avalanche.formatting import percent
from udil_avalanche.recipes import BENCHMARKS, METHODS, RunSettings, as_dict
from udil_avalanche.recipes.names import nearest
from udil_avalanche.recipes.recipe import Recipe, summary
from udil_avalanche.recipes.resolve import current_names, load_settings, resolve
from udil_avalanche.recipes.settings import meanings
from udil_avalanche.runs.result import result_problem
from udil_avalanche.runs.run_folder import RunFolder

OPTIONS = (
    *("memory", "seed", "epochs", "domains", "train_per_domain"),
    *("output", "data", "device"),
)
"""The settings with an option of their own; the others are given as key=value."""

KINDS = ("strategy", "benchmark")
"""What a run is made of, and what decides which settings there are."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.usage = "%(prog)s --strategy NAME --benchmark NAME [options] [key=value ...]"
    parser.epilog = (
        "Every other setting is given as key=value, for instance lr=0.01; --list with "
        "a strategy and a benchmark shows them all."
    )
    parser.add_argument("--strategy", metavar="NAME", help=" | ".join(METHODS))
    parser.add_argument("--benchmark", metavar="NAME", help=" | ".join(BENCHMARKS))
    meaning = meanings(RunSettings)
    for key in OPTIONS:
        option = f"--{key.replace('_', '-')}"
        parser.add_argument(option, metavar="VALUE", help=meaning[key])
    parser.add_argument("--config", metavar="FILE", help="YAML file with settings")
    shown = "show strategies, benchmarks or settings"
    parser.add_argument("--list", action="store_true", help=shown)
    parser.set_defaults(takes_settings=True)


def execute(given: argparse.Namespace) -> int:
    """Run, or show what could be run.

    :param given: the options, and settings as key=value.
    :return: the exit code.
    """
    written = {} if given.config is None else load_settings(Path(given.config))
    if given.list and not _is_named(given, written):
        _check_names(given, written)
        print(_names())
        return 0
    options = {key: getattr(given, key) for key in OPTIONS}
    refuse_contradictions(given, (*KINDS, *OPTIONS))
    settings = resolve(
        given.strategy,
        given.benchmark,
        config_file=given.config,
        options={key: value for key, value in options.items() if value is not None},
        overrides=given.settings,
    )
    if given.list:
        print(_values_and_meanings(settings))
    else:
        _run(settings)
    return 0


def _is_named(given: argparse.Namespace, written: Mapping[str, str]) -> bool:
    """Whether it is said what to list the settings of, here or in a file."""
    both = all(getattr(given, each) or each in written for each in KINDS)
    return both or bool(given.settings)


def _check_names(given: argparse.Namespace, written: Mapping[str, str]) -> None:
    """Refuse names that nothing has, where it is not said what has to have them."""
    recipes: Mapping[str, Mapping[str, Recipe]]
    recipes = {"strategy": METHODS, "benchmark": BENCHMARKS}
    for kind, known in recipes.items():
        name = getattr(given, kind) or written.get(kind)
        if name is not None:
            nearest(name, known, kind)
    settings = [each.settings for known in recipes.values() for each in known.values()]
    names = {name for each in settings for name in current_names(each)}
    for key in written:
        nearest(key, names, "setting")


def _names() -> str:
    width = max(map(len, [*METHODS, *BENCHMARKS])) + 2

    def lines(known: Mapping[str, Recipe]) -> list[str]:
        return [f"  {name:<{width}}{summary(recipe)}" for name, recipe in known.items()]

    named = ["strategies", *lines(METHODS), "benchmarks", *lines(BENCHMARKS)]
    hint = "Their settings: --list --strategy NAME --benchmark NAME"
    return "\n".join([*named, "", hint])


def _values_and_meanings(settings: RunSettings) -> str:
    meaning = meanings(type(settings))
    rows = {
        key: f"{key} = {'null' if value is None else value}"
        for key, value in as_dict(settings).items()
    }
    margin = max(map(len, rows.values())) + 2
    width = max(shutil.get_terminal_size().columns, margin + 30)
    return "\n".join(
        textwrap.fill(
            meaning[key],
            width,
            initial_indent=row.ljust(margin),
            subsequent_indent=" " * margin,
        )
        for key, row in rows.items()
    )


def _run(settings: RunSettings) -> None:
    folder = RunFolder.of(settings)
    if folder.holds(settings):
        folder.check()
        print("This run is done already; to run it again, remove its folder.")
    else:
        from udil_avalanche.runs.experiment import run

        run(settings, say=print)
    try:
        print(_summary(folder, settings))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{folder.path / 'result.json'} is not the result of a run: {error}\n"
            f"To run it again, remove {folder.path}"
        ) from error


def _summary(folder: RunFolder, settings: RunSettings) -> str:
    result = folder.result()
    problem = result_problem(result)
    if problem is None and result["strategy"] != settings.strategy:
        problem = f"it is of {result['strategy']}, not of {settings.strategy}"
    if problem is not None:
        raise ValueError(problem)
    usual_data = BENCHMARKS[result["benchmark"]].data
    standing_in = usual_data and result["data"] not in usual_data
    held_out = result["settings"]["validation"]
    lines = {
        "average accuracy": percent(result["avg_acc"], decimals=2),
        "forgetting": percent(result["forgetting"], decimals=2),
        "forward transfer": percent(result["forward_transfer"], decimals=2),
        "time": f"{result['seconds']:.0f} s, {result['steps']} steps",
        "data": result["data"] + (", not the benchmark's own" if standing_in else ""),
        "folder": str(folder.path),
    }
    if result.get("not_learned"):
        lines["warning"] = f"{len(result['not_learned'])} domains were not learned"
    if held_out:
        lines["tested on"] = f"{held_out:.0%} of the training data, held out"
    if sys.stdout.isatty():
        lines["pictures"] = ", ".join(folder.pictures())
    title = "{strategy} on {benchmark}, memory {memory}, seed {seed}".format(**result)
    return "\n".join([title, *(f"  {key:<18}{line}" for key, line in lines.items())])

"""The command line: options -> settings -> experiment.

torch and Avalanche are loaded only when the settings are right and there is something
to compute.
"""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence

from udil_avalanche.cli.parser import Parser
from udil_avalanche.errors import RunError, RunStopped, SettingsError
from udil_avalanche.recipes.resolve import nearest, resolve
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.settings import (
    BENCHMARKS,
    STRATEGIES,
    RunSettings,
    as_dict,
    meanings,
)

OPTIONS = (
    "memory",
    "seed",
    "epochs",
    "domains",
    "train_per_domain",
    "output",
    "data",
    "device",
)
"""The settings with an option of their own; the others are given as key=value."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _parser()

    def complain(error: BaseException) -> None:
        print(f"{parser.prog}: {_in_two_lines(error)}", file=sys.stderr)

    try:
        if arguments and arguments[0] == "report":
            from udil_avalanche.cli.report import report

            return report(arguments[1:])
        if arguments and arguments[0] == "sweep":
            from udil_avalanche.cli.sweep import sweep

            return sweep(arguments[1:])
        given, rest = parser.parse_known_args(arguments)
        _refuse_unknown_options(rest, known=list(parser._option_string_actions))
        if given.list and not (given.strategy and given.benchmark):
            if given.strategy:
                nearest(given.strategy, STRATEGIES, "strategy")
            if given.benchmark:
                nearest(given.benchmark, BENCHMARKS, "benchmark")
            print(_names())
            return 0
        settings = resolve(
            given.strategy,
            given.benchmark,
            config_file=given.config,
            options={
                key: value
                for key, value in vars(given).items()
                if key in OPTIONS and value is not None
            },
            overrides=rest,
        )
        if given.list:
            print(_values_and_meanings(settings))
            return 0
        _run(settings)
    except SettingsError as error:
        complain(error)
        return 2
    except (RunError, OSError) as error:
        complain(error)
        return 1
    except RunStopped as stopped:
        complain(stopped)
        return 128 + stopped.signal_number
    except KeyboardInterrupt:
        last = "the same command goes on from the last state that was saved, if any"
        complain(KeyboardInterrupt(f"stopped at once; {last}"))
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        usage="%(prog)s --strategy NAME --benchmark NAME [options] [key=value ...]\n"
        "       %(prog)s sweep FILE [options] [key=value ...]\n"
        "       %(prog)s report RUNS ... [options]",
        description="Learn the domains of a benchmark one after another.",
        epilog="Every other setting is given as key=value, for instance lr=0.01; "
        "--list with a strategy and a benchmark shows them all. The other "
        "commands have a --help of their own.",
        allow_abbrev=False,
    )
    parser.add_argument("--strategy", metavar="NAME", help=" | ".join(STRATEGIES))
    parser.add_argument("--benchmark", metavar="NAME", help=" | ".join(BENCHMARKS))
    meaning = meanings(RunSettings)
    for key in OPTIONS:
        parser.add_argument(_option(key), metavar="VALUE", help=meaning[key])
    parser.add_argument("--config", metavar="FILE", help="YAML file with settings")
    parser.add_argument("--list", action="store_true", help="show what there is")
    return parser


def _in_two_lines(error: BaseException) -> str:
    """A message that fits on a terminal, whatever it quotes."""
    characters = [
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in str(error)[:2000]
    ]
    lines = "".join(characters).split("\n")
    return "\n".join(lines) if len(lines) <= 2 else " ".join(lines)


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _refuse_unknown_options(rest: Sequence[str], known: Sequence[str]) -> None:
    owners = (STRATEGIES | BENCHMARKS).values()
    settings = {key for owner in owners for key in meanings(owner)}
    for argument in rest:
        if argument.startswith("-"):
            name, _, value = argument.partition("=")
            key = name.strip("-").replace("-", "_")
            hint = (
                f"write {key}={value or 'VALUE'}"
                if key in settings
                else f"did you mean {nearest(name, known, 'option')}?"
            )
            raise SettingsError(f"there is no option '{name}': {hint}")


def _names() -> str:
    def lines(known: Mapping[str, type]) -> list[str]:
        return [f"  {name:<16}{known[name].__doc__}" for name in known]

    return "\n".join(
        [
            "strategies",
            *lines(STRATEGIES),
            "benchmarks",
            *lines(BENCHMARKS),
            "",
            "Their settings: --list --strategy NAME --benchmark NAME",
        ]
    )


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
    if folder.is_done:
        folder.check_settings(settings)
        folder.check()
        print("This run is done already; to run it again, remove its folder.")
        if folder.result().get("data") == "mnist-5000":
            print("It had only 5,000 digits to learn from, not the whole of MNIST.")
    else:
        from udil_avalanche.runs.experiment import run

        run(settings, say=print)
    try:
        print(_summary(folder))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(
            f"{folder.path / 'result.json'} is no result of a run\n"
            f"To run it anew, remove {folder.path}"
        ) from error


def _summary(folder: RunFolder) -> str:
    result = folder.result()
    held_out = result["settings"]["validation"]
    lines = {
        "average accuracy": _percent(result["avg_acc"]),
        "forgetting": _percent(result["forgetting"]),
        "forward transfer": _percent(result["forward_transfer"]),
        "time": f"{result['seconds']:.0f} s, {result['steps']} steps",
        "data": result["data"],
        "folder": str(folder.path),
    }
    if held_out:
        lines["tested on"] = f"{held_out:.0%} of the training data, held out"
    if sys.stdout.isatty():
        lines["pictures"] = ", ".join(folder.pictures())
    title = "{strategy} on {benchmark}, memory {memory}, seed {seed}".format(**result)
    return "\n".join([title, *(f"  {key:<18}{line}" for key, line in lines.items())])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} %"


__all__ = ["main"]

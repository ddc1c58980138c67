"""The command line: which command, and what its errors look like."""

import argparse
import os
import sys
from collections.abc import Sequence

from udil_avalanche import __version__
from udil_avalanche.cli import (
    completion,
    embed,
    evaluate,
    export,
    forget,
    history,
    inspect,
    learn,
    predict,
    report,
    rollback,
    run,
    sweep,
    update,
)
from udil_avalanche.cli.parser import Command, Parser, refuse_unknown_options
from udil_avalanche.errors import BadData, RunError, RunStopped, SettingsError
from udil_avalanche.recipes.names import nearest

COMMANDS: dict[str, Command] = {
    "run": run,
    "sweep": sweep,
    "report": report,
    "learn": learn,
    "inspect": inspect,
    "update": update,
    "evaluate": evaluate,
    "predict": predict,
    "export": export,
    "history": history,
    "rollback": rollback,
    "forget": forget,
    "embed": embed,
    "completion": completion,
}
"""All commands by name; each is a module."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = main_parser()
    try:
        given, rest = parser.parse_known_args(
            _with_command(sys.argv[1:] if arguments is None else arguments)
        )
        refuse_unknown_options(rest, given.parser, given.takes_settings)
        given.settings = rest
        return COMMANDS[given.command].execute(given)
    except (SettingsError, BadData) as error:
        return _complain(parser, error, 2)
    except RunError as error:
        return _complain(parser, error, 1)
    except BrokenPipeError:
        # The reader, such as head, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        file = error.filename2 or error.filename
        message = f"{file}: {error.strerror}" if file else str(error)
        return _complain(parser, message, 1)
    except (MemoryError, RuntimeError) as error:
        if not _is_lack_of_memory(error):
            raise
        message = "the memory of this machine does not suffice: make less at a time"
        return _complain(parser, f"{message} ({_first_line(error)})", 1)
    except RunStopped as stopped:
        return _complain(parser, stopped, 128 + stopped.signal_number)
    except KeyboardInterrupt:
        message = "stopped at once; the same command resumes from the last saved state"
        return _complain(parser, f"{message}, if there is one", 130)


def main_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    name = "python -m udil_avalanche" if sys.argv[0].endswith("__main__.py") else None
    parser = Parser(
        prog=name,
        usage="%(prog)s --strategy NAME --benchmark NAME [options] [key=value ...]"
        "\n       %(prog)s COMMAND ...",
        description="Domain incremental learning: one run, many, and their report.",
        epilog="The command run may be left out. See COMMAND --help for more.",
        allow_abbrev=False,
    )
    parser.set_defaults(main_parser=parser, takes_settings=False)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        prog=parser.prog, dest="command", metavar="COMMAND", required=True
    )
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(
            name, help=summary, description=summary, allow_abbrev=False
        )
        command.set_defaults(parser=command)
        module.configure(command)
    return parser


def _with_command(arguments: Sequence[str]) -> list[str]:
    """The arguments with the command that is meant; ``run`` may be left out."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first in ("-h", "--help"):
        return list(arguments)
    if "--version" in arguments:
        return ["--version"]
    if first and not first.startswith("-") and "=" not in first:
        nearest(first, COMMANDS, "command")
    return ["run", *arguments]


def _is_lack_of_memory(error: BaseException) -> bool:
    """Whether NumPy, torch or Python could not get the memory that they asked for."""
    words = ("can't allocate memory", "out of memory", "Storage size calculation over")
    return isinstance(error, MemoryError) or any(each in str(error) for each in words)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _complain(
    parser: argparse.ArgumentParser, error: BaseException | str, code: int
) -> int:
    """Print a message that fits on a terminal, whatever it quotes."""
    characters = [
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in str(error)[:2000]
    ]
    lines = "".join(characters).split("\n")
    text = "\n".join(lines) if len(lines) <= 2 else " ".join(lines)
    print(f"{parser.prog}: {text}", file=sys.stderr)
    return code

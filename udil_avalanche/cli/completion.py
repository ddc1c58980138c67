"""Print a script that completes commands and options in your shell.

In bash: ``source <(udil-run completion bash)``.
"""

import argparse
from collections.abc import Sequence

import shtab

from udil_avalanche.cli.parser import refuse_unknown_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)
    parser.set_defaults(parser=parser)


def execute(given: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the script.

    :param given: the options.
    :param rest: nothing.
    :return: the exit code.
    """
    refuse_unknown_options(rest, given.parser, takes_settings=False)
    given.main_parser.prog = "udil-run"
    print(shtab.complete(given.main_parser, given.shell))
    return 0

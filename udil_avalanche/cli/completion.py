"""Print a script that completes commands and options in your shell.

In bash: ``source <(udil-run completion bash)``.
"""

import argparse

import shtab


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS)


def execute(given: argparse.Namespace) -> int:
    """Print the script.

    :param given: the options.
    :return: the exit code.
    """
    given.main_parser.prog = "udil-run"
    print(shtab.complete(given.main_parser, given.shell))
    return 0

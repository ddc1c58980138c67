"""Compare new samples with what a model has learned, before any training.

Exit codes: 0 nothing new or a domain that is back, 3 a new domain, 4 too few samples.
"""

import argparse

from udil_avalanche.cli.learn import DATA
from udil_avalanche.cli.model_tables import print_json, show_inspection
from udil_avalanche.cli.parser import path_argument

EXIT_CODES = {"nothing new": 0, "back": 0, "new": 3, "unclear": 4}
"""By the kind of verdict."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.epilog = (
        "Exit codes: 0 nothing new, or a domain that is back; 3 a new domain; 4 too "
        "few samples to tell."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="folder of the model")
    add(
        "--data",
        metavar="NEW",
        type=path_argument,
        required=True,
        help=f"{DATA}; or inputs without labels",
    )
    add("--json", action="store_true", help="print all of it as JSON")


def execute(given: argparse.Namespace) -> int:
    """Inspect.

    :param given: the options.
    :return: the exit code.
    """
    from udil_avalanche.learner.learner import DomainLearner

    found = DomainLearner.load(given.model).inspect(given.data)
    if given.json:
        print_json(found.as_dict())
    else:
        show_inspection(found)
    return 4 if found.verdict is None else EXIT_CODES[found.verdict.kind]

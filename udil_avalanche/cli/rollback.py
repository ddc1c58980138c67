"""Use another version of a model from now on; none is removed."""

import argparse

from udil_avalanche.cli.parser import path_argument


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.add_argument(
        "model", metavar="MODEL", type=path_argument, help="folder of the model"
    )
    parser.add_argument("number", metavar="N", type=int, help="number of the version")


def execute(given: argparse.Namespace) -> int:
    """Roll back.

    :param given: the options.
    :return: the exit code.
    """
    from udil_avalanche.learner.model_folder import ModelFolder
    from udil_avalanche.runs.state.lock import locked

    folder = ModelFolder(given.model)
    before = folder.current
    with locked(folder.path):
        folder.make_current(given.number)
    record = folder.record()
    print(
        f"{given.model} uses version {record.number} now, which has learned "
        f"{', '.join(record.names)}; before, it used version {before}"
    )
    return 0

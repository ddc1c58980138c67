"""Name the class of images or arrays by a model, with its probability.

torch is loaded, but neither Avalanche nor anything else that predicting does not need.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from udil_avalanche.cli.parser import path_argument
from udil_avalanche.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from udil_avalanche.learner.inputs import Batch, InputReader
    from udil_avalanche.learner.predictions import Write


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.epilog = (
        "Without --output, CSV on the standard output. An input of an array is called "
        "FILE[ROW]."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="the model's folder")
    meaning = "images, .npy files, .npz files with an array x, or folders of these"
    add("inputs", metavar="INPUT", type=path_argument, nargs="+", help=meaning)
    meaning = "write to FILE: .csv, .jsonl or .npz, by its ending"
    add("--output", metavar="FILE", type=path_argument, help=meaning)
    add("--all", action="store_true", help="add the probability of every class")
    meaning = "name inputs that cannot be read and leave them out, instead of ending"
    add("--skip-invalid", action="store_true", help=meaning)
    meaning = "predict with version N; by default with the one in use"
    add("--version", metavar="N", type=int, help=meaning)
    add("--device", metavar="NAME", default="cpu", help="where to compute, e.g. cuda")


def execute(given: argparse.Namespace) -> int:
    """Predict.

    :param given: the options.
    :return: the exit code.
    :raises ModelError: if the model or an input cannot be read.
    """
    _check(given)

    from udil_avalanche.learner.inputs import InputReader
    from udil_avalanche.learner.predictor import Predictor

    _check_device(given.device)
    predictor = Predictor.load(given.model, given.version, given.device)
    refused = Refused(given.skip_invalid)
    reader = InputReader(predictor, refused)
    n = 0
    with _opened(given, predictor.classes) as write:
        for batch in _shown(reader, given):
            write(batch.names, predictor.probabilities(batch.inputs))
            n += len(batch.names)
        if n == 0:
            raise ModelError("there is no input that can be predicted")
    if given.output is not None:
        skipped = f", {refused.n} skipped" if refused.n else ""
        number = predictor.record.number
        made = f"{n} prediction{'' if n == 1 else 's'}"
        print(f"{given.output}: {made} of version {number}{skipped}")
    return 0


class Refused:
    """What to do about an input that cannot be predicted.

    :param skip: name it on the standard error and go on, instead of ending.
    """

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.n = 0
        """How many were left out."""

    def __call__(self, problem: str) -> None:
        """Name it.

        :param problem: what is wrong, and where.
        :raises ModelError: unless inputs are to be skipped.
        """
        if not self.skip:
            raise ModelError(f"{problem}; leave such inputs out by --skip-invalid")
        self.n += 1
        print(f"skipped: {problem}", file=sys.stderr)


def _check(given: argparse.Namespace) -> None:
    """Refuse at once what would be refused after a long time."""
    from udil_avalanche.learner.predictions import SUFFIXES

    output = given.output
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise SettingsError(f"--output {output}: expected {' or '.join(SUFFIXES)}")
    if output is not None and not output.absolute().parent.is_dir():
        raise SettingsError(f"--output {output}: there is no folder {output.parent}")
    if not given.skip_invalid:
        for path in given.inputs:
            if not path.exists():
                raise ModelError(f"{path}: there is no such file or folder")


def _check_device(device: str) -> None:
    import torch

    try:
        torch.zeros((), device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise SettingsError(f"--device {device}: {reason}") from error


@contextmanager
def _opened(given: argparse.Namespace, classes: list[str]) -> Iterator["Write"]:
    from udil_avalanche.learner.predictions import csv_rows, predictions_file

    if given.output is None:
        yield csv_rows(sys.stdout, classes, given.all)
        sys.stdout.flush()
    else:
        with predictions_file(given.output, classes, given.all) as write:
            yield write


def _shown(reader: "InputReader", given: argparse.Namespace) -> Iterator["Batch"]:
    """The batches, with a bar on a terminal that does not show the predictions."""
    batches = reader.batches(given.inputs)
    shows_predictions = given.output is None and sys.stdout.isatty()
    if shows_predictions or not sys.stderr.isatty():
        yield from batches
        return

    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("predicting", total=reader.count(given.inputs))
        for batch in batches:
            yield batch
            bar.advance(task, len(batch.names))

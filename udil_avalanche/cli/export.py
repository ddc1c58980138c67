"""Write a model to a file that runs without this package: ONNX, or torch's format."""

import argparse
import json
import sys

from udil_avalanche.cli.parser import path_argument
from udil_avalanche.learner.export_target import check_target


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.epilog = (
        "Preprocessing is a part of the file, and any number of inputs can be given at "
        "once. The file is run and compared with the model on the samples in reserve; "
        "if a prediction differs, it is not kept. A model card is written beside it, "
        "with the ending .md."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="the model's folder")
    meaning = "the file to write: .onnx for onnxruntime, .pt2 for torch"
    add("file", metavar="FILE", type=path_argument, help=meaning)
    meaning = "export version N; by default the one in use"
    add("--version", metavar="N", type=int, help=meaning)
    add("--json", action="store_true", help="tell what was done in JSON")


def execute(given: argparse.Namespace) -> int:
    """Export.

    :param given: the options.
    :return: the exit code.
    """
    check_target(given.file)

    from rich.console import Console

    console = Console(stderr=True, force_terminal=sys.stderr.isatty())
    with console.status(f"exporting to {given.file}"):
        from udil_avalanche.learner.exporting import export
        from udil_avalanche.learner.model_folder import ModelFolder

        done = export(ModelFolder(given.model), given.file, given.version)
    if given.json:
        answer = {
            "file": str(done.file),
            "card": str(done.card),
            "version": done.version,
            "compared": done.check.n,
            "on_reserve": bool(done.check.on_reserve),
            "largest_difference": done.check.largest_difference,
            "accuracies": done.check.on_reserve,
        }
        print(json.dumps(answer))
    else:
        size = done.file.stat().st_size / 1e6
        print(f"{done.file}: version {done.version}, {size:.1f} MB")
        print(f"{done.card}: its model card")
        print(f"Run and compared: {done.check.in_words}.")
    return 0

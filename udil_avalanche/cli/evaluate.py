"""Test a model on labelled samples: by domain and class, confusions and calibration."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from udil_avalanche.cli.learn import DATA
from udil_avalanche.cli.model_tables import console, print_json
from udil_avalanche.cli.parser import path_argument
from udil_avalanche.errors import SettingsError

if TYPE_CHECKING:
    from udil_avalanche.learner.evaluating import Evaluation
    from udil_avalanche.learner.wilson import Share

MOST_COLUMNS = 10
MOST_CLASSES_IN_A_MATRIX = 15
MOST_CONFUSIONS = 10
REMARKS = {
    "reserve": "learned by the model, so only the samples held out are tested on",
    "trained on": "the model has learned these samples, so the accuracy is too high",
}
"""By the part of the samples that is tested on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.epilog = (
        "Of data with test samples only these are used, and of data that the model has "
        "learned only what it holds in reserve: the rest was trained on."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="folder of the model")
    add("--data", metavar="DATA", type=path_argument, required=True, help=DATA)
    meaning = "draw confusions, classes and calibration of each domain; .png"
    add("--picture", metavar="FILE", type=path_argument, help=meaning)
    meaning = "test version N; by default the one in use"
    add("--version", metavar="N", type=int, help=meaning)
    meaning = "name samples that cannot be read and leave them out, instead of ending"
    add("--skip-invalid", action="store_true", help=meaning)
    add("--device", metavar="NAME", default="cpu", help="where to compute, e.g. cuda")
    add("--json", action="store_true", help="print all of it as JSON, in percent")


def execute(given: argparse.Namespace) -> int:
    """Evaluate.

    :param given: the options.
    :return: the exit code.
    """
    if given.picture is not None and given.picture.suffix != ".png":
        raise SettingsError(f"--picture {given.picture}: expected a name in .png")

    from udil_avalanche.learner.evaluating import evaluate, save_picture, together
    from udil_avalanche.learner.model_folder import ModelFolder

    folder = ModelFolder(given.model)
    number = folder.current if given.version is None else given.version
    found = list(
        evaluate(
            folder,
            given.data,
            number=number,
            device=given.device,
            skip_invalid=given.skip_invalid,
        )
    )
    everything = together(found) if len(found) > 1 else found[0]
    if given.picture is not None:
        with_all = [everything, *found] if len(found) > 1 else found
        save_picture(with_all, given.picture)
    if given.json:
        answer: dict[str, Any] = {
            "model": str(given.model),
            "version": number,
            "data": str(given.data),
            "class_names": everything.class_names,
            "domains": {each.name: each.as_dict() for each in found},
            "all": everything.as_dict(),
        }
        print_json(answer)
    else:
        _show(found, everything, number)
        if given.picture is not None:
            print(f"\n{given.picture}")
    return 0


def _show(found: Sequence["Evaluation"], everything: "Evaluation", number: int) -> None:
    several = [*found, everything] if len(found) > 1 else list(found)
    out = console()
    out.print(f"version {number}")
    out.print(_domains(several))
    for part, meaning in REMARKS.items():
        names = [each.name for each in found if each.part == part]
        if names:
            out.print(f"{', '.join(names)}: {meaning}", markup=False)
    out.print("\naccuracy on each class (%), and how many samples it has")
    shown = several if len(several) <= MOST_COLUMNS else [everything]
    out.print(_classes(shown))
    if len(everything.class_names) <= MOST_CLASSES_IN_A_MATRIX:
        out.print("\nconfusion matrix: row = true class, column = predicted class")
        out.print(_matrix(everything))
    else:
        out.print("\nthe classes that are most often confused")
        out.print(_confusions(everything))


def _table(first: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(Text(first))
    for column in columns:
        table.add_column(Text(column), justify="right")
    return table


def _domains(evaluations: Sequence["Evaluation"]) -> Table:
    table = _table(
        *("domain", "samples", "accuracy (%)", "95 % interval", "confidence (%)"),
        "calibration error",
    )
    table.add_column("tested on")
    for each in evaluations:
        share = each.accuracy
        table.add_row(
            Text(each.name),
            str(each.n),
            f"{100 * share.value:.1f}",
            f"{100 * share.low:.1f} to {100 * share.high:.1f}",
            f"{100 * each.confidence:.1f}",
            f"{100 * each.calibration_error:.1f}",
            each.part,
        )
    return table


def _classes(evaluations: Sequence["Evaluation"]) -> Table:
    table = _table("class", *(each.name for each in evaluations))
    of_classes = [each.of_classes for each in evaluations]
    for name in evaluations[0].class_names:
        table.add_row(Text(name), *(_cell(shares[name]) for shares in of_classes))
    return table


def _cell(share: "Share") -> str:
    return f"{100 * share.value:.1f} ({share.n})" if share.n else "-"


def _matrix(evaluation: "Evaluation") -> Table:
    table = _table("", *evaluation.class_names)
    rows = evaluation.confusion.tolist()
    for name, row in zip(evaluation.class_names, rows, strict=True):
        table.add_row(Text(name), *(str(count) if count else "·" for count in row))
    return table


def _confusions(evaluation: "Evaluation") -> Table:
    names, rows = evaluation.class_names, evaluation.confusion.tolist()
    wrong = [
        (count, names[i], names[k])
        for i, row in enumerate(rows)
        for k, count in enumerate(row)
        if i != k and count
    ]
    table = _table("true class", "taken for", "samples")
    for count, true, predicted in sorted(wrong, reverse=True)[:MOST_CONFUSIONS]:
        table.add_row(Text(true), Text(predicted), str(count))
    return table

"""Show the versions of a model: which domains, how accurate, who came from whom."""

import argparse
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from udil_avalanche.cli.model_tables import console, print_json
from udil_avalanche.cli.parser import path_argument, write_page
from udil_avalanche.formatting import percent

if TYPE_CHECKING:
    from udil_avalanche.learner.history import History

MOST_DOMAINS_IN_A_TABLE = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.epilog = "* marks the version in use. Another is used by udil-run rollback."
    add = parser.add_argument
    add("model", metavar="MODEL", type=path_argument, help="folder of the model")
    meaning = "write a page with tables and pictures in a single file"
    add("--html", metavar="FILE", type=path_argument, help=meaning)
    add("--json", action="store_true", help="print all that is known, as JSON")


def execute(given: argparse.Namespace) -> int:
    """Show the versions.

    :param given: the options.
    :return: the exit code.
    """
    from udil_avalanche.learner.history import History
    from udil_avalanche.learner.model_folder import ModelFolder

    folder = ModelFolder(given.model)
    history = History.of(folder)
    made = None
    if given.html is not None:
        from udil_avalanche.learner.history_page import history_page

        page = history_page(history, given.model.resolve().name)
        made = write_page(given.html, page)
    if given.json:
        print_json({"model": str(given.model), **history.as_dict()})
    elif made is not None:
        print(made)
    elif given.html is None:
        _show(history)
    return 0


def _show(history: "History") -> None:
    out = console()
    out.print(_versions(history))
    names = history.domains
    if 1 < len(names) <= MOST_DOMAINS_IN_A_TABLE:
        out.print()
        out.print("accuracy on each domain's reserve (%)")
        out.print(_accuracies(history))
    elif len(names) > MOST_DOMAINS_IN_A_TABLE:
        out.print(f"The accuracies of all {len(names)} domains: --html or --json.")
    if history.forgotten:
        removed = ", ".join(history.forgotten)
        out.print(f"Samples that were removed on request: {removed}", markup=False)


def _versions(history: "History") -> Table:
    from udil_avalanche.learner.history import accuracy, learned, mean_accuracy

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("version", "from"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("made", "learned"):
        table.add_column(column, no_wrap=column == "made")
    for column in ("samples", "reserve", "accuracy", "mean of all"):
        table.add_column(column, justify="right")
    table.add_column("")
    for record in history.records:
        domain = learned(record)
        table.add_row(
            f"{'* ' if record.number == history.current else ''}{record.number}",
            str(record.parent or "-"),
            record.created[:16].replace("T", " "),
            Text(record.domain),
            str(domain.samples) if domain else "-",
            str(domain.reserve) if domain else "-",
            percent(accuracy(record, record.domain)),
            percent(mean_accuracy(record)),
            Text(history.state(record)),
        )
    return table


def _accuracies(history: "History") -> Table:
    from udil_avalanche.learner.history import accuracy

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("version", justify="right")
    for name in history.domains:
        table.add_column(Text(name), justify="right")
    for record in history.records:
        found = [accuracy(record, name) for name in history.domains]
        table.add_row(
            f"{'* ' if record.number == history.current else ''}{record.number}",
            *("" if value is None else f"{value:.1f}" for value in found),
        )
    return table

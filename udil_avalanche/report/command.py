"""``run_experiments.py report``."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from udil_avalanche.arguments import Parser
from udil_avalanche.report.cells import cells_of
from udil_avalanche.report.collect import collect
from udil_avalanche.report.markdown import markdown
from udil_avalanche.report.tables import tables_of
from udil_avalanche.resolve import SettingsError
from udil_avalanche.whole_file import whole_file


def report(arguments: Sequence[str]) -> int:
    """Make tables out of run folders.

    :param arguments: the command line after the word ``report``.
    :return: the exit code.
    :raises SettingsError: if there is nothing to report.
    """
    given = _parser().parse_args(arguments)
    found = collect(given.runs)
    if not found.runs:
        reasons = "; ".join(
            f"{len(folders)} {reason}" for reason, folders in found.left_out.items()
        )
        raise SettingsError(
            f"no finished runs below {' '.join(given.runs)}"
            + (f" (left out: {reasons})" if reasons else "")
        )
    tables = tables_of(cells_of(found.runs))
    if given.html is not None:
        from udil_avalanche.report.page import page

        _write(given.html, page(tables, found, given.html.parent))
    text = markdown(tables, found)
    if given.markdown is not None:
        _write(given.markdown, f"# Results\n\n{text}")
    elif given.html is None:
        print(text, end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="run_experiments.py report",
        description="Tables of finished runs beside the paper's figures.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUNS", help="run folders, or folders with such"
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        type=Path,
        help="write the tables there instead of to the standard output",
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write a page with tables and pictures there, which needs no other file",
    )
    return parser


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(text)
    print(path)


__all__ = ["report"]

"""Tables and pictures of finished runs, next to the paper's figures."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from udil_avalanche.cli.parser import refuse_unknown_options
from udil_avalanche.files import atomic_write


def execute(given: argparse.Namespace, rest: Sequence[str]) -> int:
    """Make tables and pictures from run folders.

    :param given: the options.
    :param rest: nothing.
    :return: the exit code.
    """
    from udil_avalanche.report.collect import collect
    from udil_avalanche.report.keep import keep
    from udil_avalanche.report.markdown import markdown
    from udil_avalanche.report.tables import tables_of

    refuse_unknown_options(rest, given.parser, takes_settings=False)
    only = _identities(given.sweep) if given.sweep else None
    found = collect(given.runs, only)
    if given.keep is not None:
        keep(found.runs, given.keep)
        found = collect([given.keep], only)
    tables = tables_of(found.runs)
    if given.html is not None:
        from udil_avalanche.report.page import page

        _write(given.html, page(tables, found, given.html.parent))
    if given.markdown is not None:
        text = markdown(tables, found, given.markdown.parent)
        _write(given.markdown, f"# Results\n\n{text}")
    elif given.html is None:
        print(markdown(tables, found), end="")
    return 0


def _identities(sweeps: Sequence[Path]) -> set[str]:
    from udil_avalanche.runs.run_folder import RunFolder
    from udil_avalanche.sweep.grid import load_sweep

    return {
        f"{run.benchmark}/{RunFolder.of(run).path.name}"
        for sweep in sweeps
        for run in load_sweep(sweep).runs
    }


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    parser.add_argument(
        "runs", nargs="+", metavar="RUNS", help="run folders, or folders above them"
    )
    for option, metavar, meaning in (
        ("--markdown", "FILE", "write the tables to a file, not the standard output"),
        ("--html", "FILE", "write a page with tables and pictures in a single file"),
        ("--keep", "DIR", "copy the small files of the runs to DIR, and report those"),
    ):
        parser.add_argument(option, metavar=metavar, type=Path, help=meaning)
    parser.add_argument(
        "--sweep",
        metavar="FILE",
        type=Path,
        action="append",
        help="report only the runs that this sweep has by the current configurations;"
        " may be given several times",
    )
    parser.set_defaults(parser=parser)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    print(path)

"""``run_experiments.py report``."""

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from udil_avalanche.cli.parser import Parser
from udil_avalanche.errors import SettingsError
from udil_avalanche.files import atomic_write
from udil_avalanche.report.collect import RunCollection, collect
from udil_avalanche.report.keep import keep
from udil_avalanche.report.markdown import markdown
from udil_avalanche.report.seed_groups import seed_groups_of
from udil_avalanche.report.tables import tables_of
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.grid import load_sweep


def report(arguments: Sequence[str]) -> int:
    """Make tables and pictures out of run folders.

    :param arguments: the command line after the word ``report``.
    :return: the exit code.
    :raises SettingsError: if there is nothing to report.
    """
    given = _parser().parse_args(arguments)
    only = _identities(given.sweep) if given.sweep else None
    found = _collect(given.runs, only)
    if given.keep is not None:
        keep(found.runs, given.keep)
        found = _collect([given.keep], only)
    tables = tables_of(seed_groups_of(found.runs))
    if given.html is not None:
        from udil_avalanche.report.page import page

        _write(given.html, page(tables, found, given.html.parent))
    if given.markdown is not None:
        text = markdown(tables, found, given.markdown.parent)
        _write(given.markdown, f"# Results\n\n{text}")
    elif given.html is None:
        print(markdown(tables, found), end="")
    return 0


def _collect(
    places: Sequence[str | Path], only: Collection[str] | None
) -> RunCollection:
    found = collect(places, only)
    if not found.runs:
        reasons = "; ".join(
            f"{len(folders)} {reason}" for reason, folders in found.left_out.items()
        )
        raise SettingsError(
            f"no finished runs below {' '.join(map(str, places))}"
            + (f" (left out: {reasons})" if reasons else "")
        )
    return found


def _identities(sweeps: Sequence[Path]) -> set[str]:
    return {
        f"{run.benchmark}/{RunFolder.of(run).path.name}"
        for sweep in sweeps
        for run in load_sweep(sweep).runs
    }


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
    parser.add_argument(
        "--sweep",
        metavar="FILE",
        type=Path,
        action="append",
        help="report only the runs of this sweep, by the configurations as they are;"
        " may be given several times",
    )
    parser.add_argument(
        "--keep",
        metavar="DIR",
        type=Path,
        help="copy the small files of the runs there first, and report from there",
    )
    return parser


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        unfinished.write_text(text)
    print(path)


__all__ = ["report"]

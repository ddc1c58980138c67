"""Tables and pictures of finished runs, next to the paper's figures."""

import argparse
from pathlib import Path

from udil_avalanche.cli.parser import path_argument, write_page
from udil_avalanche.report.plan import Plan, PlannedRun
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.sweep.grid import Sweep, load_sweep


def execute(given: argparse.Namespace) -> int:
    """Make tables and pictures from run folders.

    :param given: the options.
    :return: the exit code.
    """
    from udil_avalanche.report.collect import collect
    from udil_avalanche.report.comparison import comparison_of
    from udil_avalanche.report.keep import keep
    from udil_avalanche.report.markdown import markdown
    from udil_avalanche.report.searches import (
        keep_searches,
        search_tables,
        searches_below,
        without_finals,
    )
    from udil_avalanche.report.tables import tables_of

    sweeps = [load_sweep(file) for file in given.sweep or ()]
    plans = [_plan(sweep) for sweep in sweeps]
    searches = searches_below(given.runs)
    only = None
    if plans:
        named = {sweep.name for sweep in sweeps}
        finals = [each.finals for each in searches.values() if each.name in named]
        only = {run.identity for plan in plans for run in plan.runs}.union(*finals)
    over_streams = [
        plan for plan, sweep in zip(plans, sweeps, strict=True) if sweep.has_streams
    ]
    compared = {run.identity for plan in over_streams for run in plan.runs}
    found = collect(given.runs, only, compared)
    if given.keep is not None:
        keep(found.used, given.keep)
        keep_searches(searches, given.keep)
        found = collect([given.keep], only, compared)
    tables = tables_of(without_finals(found.runs, searches.values()))
    searched = search_tables(searches.values(), found.runs)
    comparisons = [comparison_of(plan, found.compared) for plan in over_streams]
    if given.html is not None:
        from udil_avalanche.report.page import page

        made = page(tables, found, given.html.parent, comparisons, searched)
        _write(given.html, made)
    if given.markdown is not None:
        above = given.markdown.parent
        text = markdown(tables, found, above, comparisons, searched)
        _write(given.markdown, f"# Results\n\n{text}")
    elif given.html is None:
        text = markdown(tables, found, comparisons=comparisons, searches=searched)
        print(text, end="")
    return 0


def _plan(sweep: Sweep) -> Plan:
    runs = []
    for run in sweep.runs:
        cell = sweep.cells[RunFolder.of(run).path]
        runs.append(PlannedRun(run, cell.stream, cell.variant))
    return Plan(sweep.name, runs)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options.

    :param parser: the parser of the command.
    """
    above = "run folders, or folders above them"
    parser.add_argument(
        "runs", nargs="+", metavar="RUNS", type=path_argument, help=above
    )
    for option, metavar, meaning in (
        ("--markdown", "FILE", "write the tables to a file, not the standard output"),
        ("--html", "FILE", "write a page with tables and pictures in a single file"),
        ("--keep", "DIR", "copy the small files of the runs to DIR, and report those"),
    ):
        parser.add_argument(option, metavar=metavar, type=path_argument, help=meaning)
    parser.add_argument(
        "--sweep",
        metavar="FILE",
        type=path_argument,
        action="append",
        help="report only the runs that this sweep has by the current configurations,"
        " and compare the methods across its streams; may be given several times",
    )


def _write(path: Path, text: str) -> None:
    made = write_page(path, text)
    if made is not None:
        print(made)

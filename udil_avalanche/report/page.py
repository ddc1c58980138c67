"""The report as an HTML page that needs no other file."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from udil_avalanche import formatting
from udil_avalanche.report import pictures
from udil_avalanche.report.advice import advice
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.origin import commit_of, origins
from udil_avalanche.report.rerun_commands import missing_runs, rerun_command
from udil_avalanche.report.tables import Table, groups_of, remarks


def page(tables: Sequence[Table], found: RunCollection, folder: Path) -> str:
    """The whole page.

    :param tables: the tables.
    :param found: the runs that they were made from.
    :param folder: the folder that the page will be in; links to runs start there.
    """
    environment = Environment(
        loader=PackageLoader("udil_avalanche.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        tables=tables,
        groups=groups_of(tables),
        missing_runs=missing_runs(tables),
        remarks=remarks(tables, found),
        origins=origins(found.runs),
        folder=folder,
        advice=advice,
        commit_of=commit_of,
        formatting=formatting,
        heading=_heading,
        pictures=pictures,
        rerun_command=rerun_command,
    )


def _heading(metric: str) -> str:
    """``domains 1-5`` for ``avg_acc_1_5``, or the metric with spaces."""
    *_, first, last = metric.split("_")
    return f"domains {first}-{last}" if first.isdigit() else metric.replace("_", " ")

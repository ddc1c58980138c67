"""The report as a page of HTML that needs nothing but itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from udil_avalanche.formatting import TITLES, duration, megabytes, number_list
from udil_avalanche.report.advice import advice
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.curves import course_figure
from udil_avalanche.report.entries import cell_entries, missing_entries
from udil_avalanche.report.markdown import ABSENT, MISSING, difference_text
from udil_avalanche.report.origin import origins
from udil_avalanche.report.paper import paper_figure, paper_metrics
from udil_avalanche.report.pictures import (
    coefficients_pictures,
    cost_picture,
    curves_picture,
    embeddings_picture,
    matrices_picture,
)
from udil_avalanche.report.tables import METRICS, Row, Table, missing_tables


def page(tables: Sequence[Table], found: RunCollection, folder: Path) -> str:
    """The whole page.

    :param tables: the tables.
    :param found: the runs that they were made from.
    :param folder: where the page will lie; links to runs start from there.
    """
    environment = Environment(
        loader=PackageLoader("udil_avalanche.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "number_list": number_list}
    return environment.get_template("page.html").render(
        sections=[
            _section(number, table) for number, table in enumerate(tables, start=1)
        ],
        cells=cell_entries(tables, folder),
        missing_entries=missing_entries(tables),
        absent=missing_tables(tables),
        absent_from=ABSENT,
        left_out={why: len(folders) for why, folders in found.left_out.items()},
        origins=origins(found.runs),
        missing=MISSING,
    )


def _section(number: int, table: Table) -> dict[str, Any]:
    advised = advice(table)
    return {
        "id": f"table-{number}",
        "title": table.title,
        "benchmark": TITLES.get(table.benchmark, table.benchmark),
        "other_data": table.other_data,
        "advice": advised,
        "best": None if advised is None else _row(advised.best),
        "rows": [_row(row) for row in table.rows],
        "course": _course(table),
        "curves": curves_picture(table),
        "cost": cost_picture(table),
        "matrices": matrices_picture(table),
        "coefficients": coefficients_pictures(table),
        "embeddings": {
            colour: embeddings_picture(table, colour) for colour in ("label", "domain")
        },
    }


def _row(row: Row) -> dict[str, Any]:
    cell = row.cell
    return {
        "name": row.name,
        "memory": row.memory_sign,
        "link": None if cell is None else f"#{cell.anchor}",
        "seeds": [] if cell is None else cell.seeds,
        "figures": [
            {
                "ours": row.figures[metric].ours,
                "paper": row.figures[metric].paper,
                "rank": row.figures[metric].rank,
                "verdict": row.figures[metric].verdict,
                "difference": difference_text(row.figures[metric]),
            }
            for metric in METRICS
        ],
        "time": None if cell is None else duration(cell.seconds),
        "peak_memory": None if cell is None else megabytes(cell.peak_memory),
    }


def _course(table: Table) -> dict[str, Any] | None:
    """The columns of the paper's larger tables."""
    metrics = [
        metric for metric in paper_metrics(table.benchmark) if metric not in METRICS
    ]
    if not metrics or not table.bears_comparison:
        return None
    rows = []
    for row in table.rows:
        if row.cell is not None:
            figures = [
                (
                    course_figure(row.cell, metric),
                    paper_figure(
                        table.benchmark, table.memory or 0, row.method, metric
                    ),
                )
                for metric in metrics
            ]
            link = f"#{row.cell.anchor}"
            rows.append({"name": row.name, "link": link, "figures": figures})
    return {"heads": [_head(metric) for metric in metrics], "rows": rows}


def _head(metric: str) -> str:
    *_, first, last = metric.split("_")
    if first.isdigit():
        return f"domains {first}-{last}"
    return metric.replace("_", " ")


__all__ = ["page"]

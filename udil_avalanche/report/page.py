"""The report as a page of HTML that needs nothing but itself."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from udil_avalanche.report.advice import advice, cost
from udil_avalanche.report.again import command_again
from udil_avalanche.report.cells import Cell, settings_in_words
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.course import course_figure
from udil_avalanche.report.markdown import MISSING, difference_text
from udil_avalanche.report.origin import origins
from udil_avalanche.report.paper import TITLES, paper_figure, paper_metrics
from udil_avalanche.report.pictures import (
    coefficients_pictures,
    cost_picture,
    curves_picture,
    embeddings_picture,
    matrices_picture,
)
from udil_avalanche.report.tables import METRICS, Row, Table, missing_tables
from udil_avalanche.report.words import duration, number_list


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
    cells = list({id(cell): cell for table in tables for cell in table.cells}.values())
    numbers = {id(cell): number for number, cell in enumerate(cells, start=1)}
    return environment.get_template("page.html").render(
        sections=[
            _section(number, table, numbers)
            for number, table in enumerate(tables, start=1)
        ],
        cells=[_cell(number, cell, folder) for number, cell in enumerate(cells, 1)],
        absent=missing_tables(tables),
        left_out={why: len(folders) for why, folders in found.left_out.items()},
        origins=origins(found.runs),
        missing=MISSING,
    )


def _section(number: int, table: Table, numbers: dict[int, int]) -> dict[str, Any]:
    return {
        "id": f"table-{number}",
        "title": table.title,
        "benchmark": TITLES.get(table.benchmark, table.benchmark),
        "other_data": table.other_data,
        "advice": advice(table),
        "rows": [_row(row, numbers) for row in table.rows],
        "course": _course(table),
        "curves": curves_picture(table),
        "cost": cost_picture(table),
        "matrices": matrices_picture(table),
        "coefficients": coefficients_pictures(table),
        "embeddings": {
            colour: embeddings_picture(table, colour) for colour in ("label", "domain")
        },
    }


def _row(row: Row, numbers: dict[int, int]) -> dict[str, Any]:
    cell = row.cell
    memory = None if cell is None else cell.peak_memory
    return {
        "name": row.name,
        "memory": {"": "-", "inf": "∞"}.get(row.memory, row.memory),
        "link": None if cell is None else f"#cell-{numbers[id(cell)]}",
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
        "peak_memory": None if memory is None else f"{memory:.0f} MB",
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
            rows.append({"name": row.name, "figures": figures})
    return {"heads": [_head(metric) for metric in metrics], "rows": rows}


def _head(metric: str) -> str:
    *_, first, last = metric.split("_")
    if first.isdigit():
        return f"domains {first}-{last}"
    return metric.replace("_", " ")


def _cell(number: int, cell: Cell, folder: Path) -> dict[str, Any]:
    changed = settings_in_words(cell.problem)
    kept = f", {cell.memory} samples in memory" if cell.memory else ""
    variant = f" ({cell.variant})" if cell.variant else ""
    title = TITLES.get(cell.benchmark, cell.benchmark)
    return {
        "id": f"cell-{number}",
        "name": f"{cell.method}{variant} on {title}"
        + (f" ({changed})" if changed else "")
        + kept,
        "cost": cost(cell),
        "runs": [
            {
                "seed": run.seed,
                "folder": str(run.folder),
                "address": quote(
                    Path(os.path.relpath(run.folder, folder)).as_posix() + "/"
                ),
                "avg_acc": run.result["avg_acc"],
                "forgetting": run.result["forgetting"],
                "seconds": run.result["seconds"],
                "command": command_again(run),
            }
            for run in cell.runs
        ],
    }


__all__ = ["page"]

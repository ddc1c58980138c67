"""The measurements as tables."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table


def show(title: str, values: Mapping[str, Any], console: Console) -> None:
    """Print results as a table.

    :param title: the table's title.
    :param values: numbers by name, or rows of numbers by name.
    :param console: where to print.
    """
    table = Table(title=title, title_justify="left", show_header=False)
    rows = _rows(values)
    for i in range(max(len(row) for row in rows)):
        table.add_column(justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _rows(values: Mapping[str, Any]) -> list[list[str]]:
    nested = [name for name, value in values.items() if isinstance(value, Mapping)]
    columns = list(dict.fromkeys(key for name in nested for key in values[name]))
    rows = [["", *columns]] if nested else []
    for name, value in values.items():
        if isinstance(value, Mapping):
            cells = [value.get(column) for column in columns]
            rows.append([name, *map(_text, cells)])
        else:
            rows.append([name, _text(value)])
    return rows


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


__all__ = ["show"]

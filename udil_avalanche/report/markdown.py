"""The tables as Markdown."""

from collections.abc import Sequence

from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.origin import origins
from udil_avalanche.report.tables import METRICS, Figure, Row, Table, missing_tables
from udil_avalanche.report.words import duration, number_list

MISSING = "missing"
_MEMORY = {"": "-", "inf": "∞"}
_MARKS = {0: "{}", 1: "**{}**", 2: "*{}*"}
_VERDICTS = {"": "", "better": " ▲", "worse": " ▼"}

LEGEND = """\
Percent, mean ± standard deviation over the seeds (n - 1), beside the paper's.
**Best** and *second best* of a table, joint training apart.
▲ and ▼: better or worse than the paper by more than either standard deviation.
The time is the median of a run."""


def markdown(tables: Sequence[Table], found: RunCollection) -> str:
    """The whole report as Markdown.

    :param tables: the tables.
    :param found: the runs that they were made from.
    """
    parts = [LEGEND, *map(table_markdown, tables)]
    absent = missing_tables(tables)
    if absent:
        parts.append("No runs yet: " + "; ".join(absent) + ".")
    if found.left_out:
        counts = [f"{len(each)} {reason}" for reason, each in found.left_out.items()]
        parts.append("Runs left out: " + "; ".join(counts) + ".")
    if found.runs:
        parts.append("## Versions and hardware")
        parts.append("\n".join(f"- {origin}" for origin in origins(found.runs)))
    return "\n\n".join(parts) + "\n"


def table_markdown(table: Table) -> str:
    """A table with its title.

    :param table: the table.
    """
    heads = ["memory", "method", "seeds"]
    for name in ("average accuracy", "forgetting"):
        heads += [name, "paper", "difference"]
    heads.append("time")
    lines = [f"## {table.title}", "", _line(heads), _line(["---"] * len(heads))]
    return "\n".join([*lines, *(_line(_entries(row)) for row in table.rows)])


def difference_text(figure: Figure) -> str:
    """The difference from the paper and whether it is clear, or a dash."""
    if figure.difference is None:
        return "-"
    return f"{figure.difference:+.1f}{_VERDICTS[figure.verdict]}"


def _entries(row: Row) -> list[str]:
    cell = row.cell
    seeds = MISSING if cell is None else number_list(cell.seeds)
    entries = [_MEMORY.get(row.memory, row.memory), row.name, seeds]
    for metric in METRICS:
        figure = row.figures[metric]
        entries += [_ours(row, figure), _or_dash(figure.paper), difference_text(figure)]
    return [*entries, "-" if cell is None else duration(cell.seconds)]


def _ours(row: Row, figure: Figure) -> str:
    if row.cell is None:
        return MISSING
    return _MARKS[figure.rank].format(_or_dash(figure.ours))


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _line(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


__all__ = ["LEGEND", "MISSING", "difference_text", "markdown", "table_markdown"]

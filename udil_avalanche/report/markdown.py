"""The tables as Markdown."""

from collections.abc import Sequence
from pathlib import Path

from udil_avalanche.formatting import duration, megabytes, number_list
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.entries import cell_entries, missing_entries
from udil_avalanche.report.origin import origins
from udil_avalanche.report.tables import METRICS, Figure, Row, Table, missing_tables

MISSING = "missing"
_MARKS = {0: "{}", 1: "**{}**", 2: "*{}*"}
_VERDICTS = {"": "", "better": " ▲", "worse": " ▼"}

LEGEND = """\
Percent, mean ± standard deviation over the seeds (n - 1), beside the paper's.
**Best** and *second best* of a table, joint training apart.
▲ and ▼: better or worse than the paper by more than either standard deviation.
Time and peak memory are the medians of a run.
How settings were chosen is said by each method's configuration; a method that was given
more trials than another has an advantage that no table shows."""

ABSENT = "configs/sweeps has a sweep for each"
"""Where the tables without runs would come from."""


def markdown(
    tables: Sequence[Table], found: RunCollection, folder: Path | None = None
) -> str:
    """The whole report as Markdown.

    :param tables: the tables.
    :param found: the runs that they were made from.
    :param folder: where it will lie. Then every figure leads to its runs and to the
        commands that make them again; without it there are tables alone, to be read
        as they are.
    """
    linked = folder is not None
    parts = [LEGEND, *(table_markdown(table, linked) for table in tables)]
    absent = missing_tables(tables)
    if absent:
        parts.append(f"No runs yet ({ABSENT}): " + "; ".join(absent) + ".")
    if found.left_out:
        counts = [f"{len(each)} {reason}" for reason, each in found.left_out.items()]
        parts.append("Runs left out: " + "; ".join(counts) + ".")
    if folder is not None:
        parts += _runs(tables, folder)
    if found.runs:
        parts.append("## Versions and hardware")
        parts.append("\n".join(f"- {origin}" for origin in origins(found.runs)))
    return "\n\n".join(parts) + "\n"


def table_markdown(table: Table, linked: bool = False) -> str:
    """A table with its title.

    :param table: the table.
    :param linked: whether its figures lead to their runs.
    """
    heads = ["memory", "method", "seeds"]
    for name in ("average accuracy", "forgetting"):
        heads += [name, "paper", "difference"]
    heads += ["time", "peak memory"]
    lines = [f"## {table.title}", "", _line(heads), _line(["---"] * len(heads))]
    return "\n".join([*lines, *(_line(_entries(row, linked)) for row in table.rows)])


def difference_text(figure: Figure) -> str:
    """The difference from the paper and whether it is clear, or a dash."""
    if figure.difference is None:
        return "-"
    return f"{figure.difference:+.1f}{_VERDICTS[figure.verdict]}"


def _entries(row: Row, linked: bool) -> list[str]:
    cell = row.cell
    seeds = MISSING if cell is None else number_list(cell.seeds)
    entries = [row.memory_sign, row.name, seeds]
    for metric in METRICS:
        figure = row.figures[metric]
        ours = _ours(row, figure, linked)
        entries += [ours, _or_dash(figure.paper), difference_text(figure)]
    time = None if cell is None else duration(cell.seconds)
    memory = None if cell is None else megabytes(cell.peak_memory)
    return [*entries, _or_dash(time), _or_dash(memory)]


def _ours(row: Row, figure: Figure, linked: bool) -> str:
    if row.cell is None:
        return MISSING
    shown = _MARKS[figure.rank].format(_or_dash(figure.ours))
    if not linked or figure.ours is None:
        return shown
    return f"[{shown}](#{row.cell.anchor})"


def _runs(tables: Sequence[Table], folder: Path) -> list[str]:
    parts = []
    missing = missing_entries(tables)
    if missing:
        parts.append("## What is missing, and how to make it")
        parts.append("\n".join(f"- {each.name}: `{each.command}`" for each in missing))
    parts.append("## The runs, and how to make them again")
    for entry in cell_entries(tables, folder):
        lines = [f'<a id="{entry.anchor}"></a>**{entry.name}** ({entry.cost})', ""]
        lines += [
            f"- [seed {run.seed}]({run.address}): {run.avg_acc:.2f}"
            + ("" if run.forgetting is None else f" / {run.forgetting:.2f}")
            + f", {duration(run.seconds)}, commit {run.commit}: `{run.command}`"
            for run in entry.runs
        ]
        parts.append("\n".join(lines))
    return parts


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _line(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


__all__ = [
    "ABSENT",
    "LEGEND",
    "MISSING",
    "difference_text",
    "markdown",
    "table_markdown",
]

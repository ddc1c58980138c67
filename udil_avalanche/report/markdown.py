"""The report as Markdown."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from udil_avalanche.formatting import (
    duration,
    markdown_code,
    markdown_text,
    megabytes,
    number_list,
)
from udil_avalanche.report import paper
from udil_avalanche.report.certainty import PairedTest, paired_tests, ranking_of
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.comparison import Comparison
from udil_avalanche.report.comparison_markdown import comparison_markdown
from udil_avalanche.report.coverage import Coverage, coverage
from udil_avalanche.report.origin import commit_of, origins
from udil_avalanche.report.rerun_commands import SCRIPT, missing_runs, rerun_command
from udil_avalanche.report.searches import SearchTable
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.tables import METRICS, Figure, Row, Table, groups_of

LEGEND = """\
Percent, mean ± standard deviation (n - 1) over the seeds, next to the paper's.
**Best** and *second best* of each table, not counting joint training.
▲ and ▼: better or worse than the paper by more than either standard deviation.
Time and peak memory are medians over the runs.
Each method's configuration says how its settings were chosen; a method that was given
more trials than another has an advantage that the tables do not show."""

HEADINGS = (
    *("memory", "method", "seeds"),
    *("average accuracy", "paper", "difference"),
    *("forgetting", "paper", "difference"),
    *("time", "peak memory"),
)

LEGEND_OF_COVERAGE = """\
Better and worse: beyond our standard deviation and the paper's. A method with several
rows counts by the first: UDIL by its default, not by its tuned settings."""

LEGEND_OF_TESTS = """\
Below each table, one method minus each other: the difference of the average accuracy,
paired by seed, with its 95 % t-interval over the seeds; on how many pairs of a seed and
a domain it is positive after the last domain; and p of Wilcoxon's signed-rank test over
these pairs, adjusted by Holm for the number of methods. The domains of a run share a
model and are not independent, so that p alone would be too sure. Bold: p is below 5 %
and the interval excludes 0."""

LEGEND_OF_RANGES = """\
A_{t1:t2} is the mean of the average accuracies after domains t1 to t2."""

_RANKS = {0: "{}", 1: "**{}**", 2: "*{}*"}


def markdown(
    tables: Sequence[Table],
    found: RunCollection,
    folder: Path | None = None,
    comparisons: Sequence[Comparison] = (),
    searches: Sequence[SearchTable] = (),
) -> str:
    """The whole report as Markdown.

    :param tables: the tables.
    :param found: the runs that they were made from.
    :param folder: the folder that the report will be in. With it, every figure links to
        its runs and to the commands that repeat them; without it, there are only the
        tables.
    :param comparisons: comparisons across streams, which come first.
    :param searches: what searches for settings came to.
    """
    linked = folder is not None
    counted = coverage(tables)
    parts = [] if counted is None else [_coverage(counted)]
    parts += [comparison_markdown(each, linked) for each in comparisons]
    parts += [LEGEND, LEGEND_OF_TESTS] if tables else []
    parts += [_table(table, linked) for table in tables]
    ranking = ranking_of(tables)
    if ranking is not None:
        parts += ["## Ranks over all tables", ranking.in_words]
    parts += [_search(search, linked) for search in searches]
    parts += [f"Runs left out: {found.reasons}."] if found.left_out else []
    if folder is not None:
        missing = missing_runs(tables)
        if missing:
            parts.append("## Missing runs, and the commands that make them")
            parts.append(
                _list(
                    f"{markdown_text(name)}: {markdown_code(command)}"
                    for name, command in missing.items()
                )
            )
        parts.append("## The runs, and the commands that repeat them")
        shown = [*tables, *(search.table for search in searches)]
        parts += [_runs(group, folder) for group in groups_of(shown, comparisons)]
    parts.append("## Versions and hardware")
    parts.append(_list(origins(found.used)))
    return "\n\n".join(parts) + "\n"


def _coverage(counted: Coverage) -> str:
    said = [f"**{counted.line}**", LEGEND_OF_COVERAGE]
    if counted.rest:
        said.append("Not measured:\n\n" + _list(counted.rest))
    return "\n\n".join(said)


def _table(table: Table, linked: bool) -> str:
    rows = [_row(row, linked) for row in table.rows]
    parts = [f"## {markdown_text(table.title)}", _lines(HEADINGS, rows)]
    if table.more_metrics:
        headings = ["method"]
        for metric in table.more_metrics:
            headings += [paper.heading(metric), "paper"]
        rows = [_more(table, row, linked) for row in table.rows if _has_more(row)]
        parts += [LEGEND_OF_RANGES, _lines(headings, rows)]
    tests = paired_tests(table)
    if tests is not None:
        headings = [f"{tests.method} minus", "difference", "better on", "p"]
        rows = [_test(test) for test in tests.tests]
        parts += [_lines(headings, rows)]
    return "\n\n".join(parts)


def _test(test: PairedTest) -> list[str]:
    shown = f"**{test.difference}**" if test.is_clear else str(test.difference)
    return [test.other, shown, f"{test.better} of {test.pairs}", f"{test.p_value:.1g}"]


def _search(search: SearchTable, linked: bool) -> str:
    *first, _, _ = HEADINGS
    headings = [*first, "trials", "time of the trials", "chosen"]
    rows = [
        [*_row(row, linked)[:-2], *search.entries(row)] for row in search.table.rows
    ]
    again = f"Made by {markdown_code(f'{SCRIPT} {search.record.command}')}."
    parts = [
        f"## {markdown_text(search.title)}",
        search.protocol,
        _lines(headings, rows),
        again,
    ]
    return "\n\n".join(parts)


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(row: Row, linked: bool) -> list[str]:
    group = row.group
    entries = [row.memory, row.name, number_list(group.seeds) or "missing"]
    for figure in (row.figures[metric] for metric in METRICS):
        ours = _ours(figure, group, linked)
        entries += [ours, str(figure.paper or "-"), figure.difference]
    if not group.runs:
        return [*entries, "-", "-"]
    return [*entries, duration(group.seconds), megabytes(group.peak_memory)]


def _has_more(row: Row) -> bool:
    """Whether a row has a figure, ours or the paper's, beyond those of every table."""
    more = [row.figures[metric] for metric in row.figures if metric not in METRICS]
    return any(figure.ours or figure.paper for figure in more)


def _more(table: Table, row: Row, linked: bool) -> list[str]:
    entries = [row.name]
    for figure in (row.figures[metric] for metric in table.more_metrics):
        ours = _ours(figure, row.group, linked)
        entries += [f"{ours}{figure.mark}", str(figure.paper or "-")]
    return entries


def _ours(figure: Figure, group: SeedGroup, linked: bool) -> str:
    if figure.ours is None:
        return "-" if group.runs else "missing"
    shown = _RANKS[figure.rank].format(figure.ours)
    return f"[{shown}](#{group.anchor})" if linked else shown


def _runs(group: SeedGroup, folder: Path) -> str:
    entries = []
    for run in group.runs:
        measured = [run.metric("avg_acc"), run.metric("forgetting")]
        figures = " / ".join(f"{each:.2f}" for each in measured if each is not None)
        entries.append(
            f"[seed {run.seed}]({run.link_from(folder)}): {figures}, "
            f"{duration(run.seconds)}, commit {commit_of(run)}: "
            f"{markdown_code(rerun_command(run))}"
        )
    title = (
        f'<a id="{group.anchor}"></a>**{markdown_text(group.title)}** ({group.cost})'
    )
    return f"{title}\n\n{_list(entries)}"


def _list(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)

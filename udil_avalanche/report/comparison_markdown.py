"""A comparison as Markdown."""

from collections.abc import Iterable

from udil_avalanche.formatting import in_parentheses, markdown_text
from udil_avalanche.report.compared_row import ComparedRow
from udil_avalanche.report.comparison import Comparison

LEGEND = """\
Average accuracy in percent, mean ± standard deviation (n - 1) over the seeds; the best
method with a memory of each stream is bold. Mean rank: by the mean accuracy among all
methods but joint training, on average over the streams; equal ones share their ranks.
Wins: streams on which no other is better. Behind: the most points behind the best
method with a memory on any stream. An empty cell has no runs yet; a method without a
figure on a stream has no mean rank."""

LEGEND_OF_DIFFERENCES = """\
Differences of the average accuracy in points, paired by seed: the mean, and from three
seeds on the 95 % t-interval over the seeds. Bold: the interval excludes 0. With many
differences, some are bold by chance: one of twenty without a real difference."""


def comparison_markdown(comparison: Comparison, linked: bool) -> str:
    """The section.

    :param comparison: what to show.
    :param linked: whether figures link to their runs.
    """
    streams = comparison.plan.streams
    parts = [f"## {markdown_text(comparison.title)}", comparison.state, LEGEND]
    rows = [_row(comparison, row, linked) for row in comparison.rows]
    parts.append(_table(["", *streams, "mean rank", "wins", "behind"], rows))
    ranking = comparison.ranking
    if ranking is not None:
        parts.append(ranking.in_words)
    if comparison.differences:
        parts.append(LEGEND_OF_DIFFERENCES)
        lines = []
        for name, by_stream in comparison.differences.items():
            shown = [_bold(str(d), d.is_clear) if d else "" for d in by_stream.values()]
            lines.append([name, *shown])
        parts.append(_table(["", *streams], lines))
    return "\n\n".join(parts)


def behind_in_words(comparison: Comparison, row: ComparedRow) -> str:
    """How far a row is behind the best method with a memory, and where.

    :param comparison: the comparison.
    :param row: one of its rows.
    """
    behind = comparison.behind(row)
    if behind is None:
        return ""
    points, stream = behind
    return f"{points:.1f}{in_parentheses(stream)}" if stream else "0"


def _row(comparison: Comparison, row: ComparedRow, linked: bool) -> list[str]:
    entries = [row.name]
    for stream, group in row.groups.items():
        shown = _bold(comparison.shown(row, stream), comparison.is_best(row, stream))
        link = linked and bool(group.runs)
        entries.append(f"[{shown}](#{group.anchor})" if link else shown)
    rank, wins = comparison.mean_rank(row), comparison.wins(row)
    entries.append("" if rank is None else f"{rank:.1f}")
    entries.append("" if wins is None else str(wins))
    return [*entries, behind_in_words(comparison, row)]


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def _table(headings: list[str], rows: Iterable[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    escaped = [[entry.replace("|", "\\|") for entry in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)

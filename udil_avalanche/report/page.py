"""The report as an HTML page that needs no other file."""

from collections.abc import Sequence
from pathlib import Path

from udil_avalanche import formatting
from udil_avalanche.evaluation.pages import page_environment
from udil_avalanche.report import comparison_markdown, markdown, paper, pictures
from udil_avalanche.report.advice import advice
from udil_avalanche.report.certainty import paired_tests, ranking_of
from udil_avalanche.report.collect import RunCollection
from udil_avalanche.report.comparison import Comparison
from udil_avalanche.report.comparison_picture import comparison_picture
from udil_avalanche.report.coverage import coverage
from udil_avalanche.report.origin import commit_of, origins
from udil_avalanche.report.rank_picture import rank_picture
from udil_avalanche.report.rerun_commands import SCRIPT, missing_runs, rerun_command
from udil_avalanche.report.searches import SearchTable
from udil_avalanche.report.tables import METRICS, Table, groups_of


def page(
    tables: Sequence[Table],
    found: RunCollection,
    folder: Path,
    comparisons: Sequence[Comparison] = (),
    searches: Sequence[SearchTable] = (),
) -> str:
    """The whole page.

    :param tables: the tables.
    :param found: the runs that they were made from.
    :param folder: the folder that the page will be in; links to runs start there.
    :param comparisons: comparisons across streams, which come first.
    :param searches: what searches for settings came to.
    """
    environment = page_environment("udil_avalanche.report")
    return environment.get_template("own/page.html").render(
        tables=tables,
        comparisons=comparisons,
        searches=searches,
        groups=groups_of(
            [*tables, *(search.table for search in searches)], comparisons
        ),
        missing_runs=missing_runs(tables),
        left_out=found.reasons,
        coverage=coverage(tables),
        ranking=ranking_of(tables),
        METRICS=METRICS,
        origins=origins(found.used),
        folder=folder,
        advice=advice,
        behind_in_words=comparison_markdown.behind_in_words,
        commit_of=commit_of,
        comparison_picture=comparison_picture,
        formatting=formatting,
        heading=paper.heading,
        legends=comparison_markdown,
        markdown=markdown,
        paired_tests=paired_tests,
        pictures=pictures,
        rank_picture=rank_picture,
        rerun_command=rerun_command,
        SCRIPT=SCRIPT,
    )

"""How many of the paper's figures are measured, and how ours compare with them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from udil_avalanche.recipes import BENCHMARKS, Role
from udil_avalanche.recipes.settings import role_of
from udil_avalanche.report import paper
from udil_avalanche.report.tables import Figure, Row, Table

JUDGED = ("better", "as good", "worse")
VERDICTS = (*JUDGED, "with one seed only", "without a number in the paper")
"""How a figure of ours may compare with the paper's."""

WITHOUT_RUNS = "no runs yet, configs/sweeps has a sweep for each"
WITHOUT_IMAGES = "no runs yet, its images have to be put into the data folder first"
WITHOUT_FIGURE = "its runs have no such figure"


@dataclass
class Coverage:
    """The paper's figures, counted.

    :param verdicts: how many of ours are better or worse than the paper's by more than
        either standard deviation, how many are as good, and how many cannot be judged.
    :param missing: the places of the figures that are not measured, by reason.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    missing: dict[str, list[paper.Place]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The count in words."""
        said = [each for each in VERDICTS if self.verdicts[each] or each in JUDGED]
        counts = ", ".join(f"{self.verdicts[each]} {each}" for each in said)
        measured, all_of_them = self.verdicts.total(), len(paper.FIGURES)
        return (
            f"{measured} of the paper's {all_of_them} figures are measured: {counts}."
        )

    @property
    def rest(self) -> list[str]:
        """The figures that are not measured, a line for each table and reason."""
        return [
            f"{title}: {count} figures ({methods}): {reason}"
            for reason, places in self.missing.items()
            for title, count, methods in _by_table(places)
        ]


def coverage(tables: Sequence[Table]) -> Coverage | None:
    """Count the paper's figures that the tables have ours of.

    Only runs on the paper's data count, with all of its training samples. A method with
    several rows in a table counts by the first: UDIL by its default.

    :param tables: the tables.
    :return: None if no table is one of the paper's.
    """
    ours = [
        table
        for table in tables
        if not table.problem and table.benchmark in paper.MEMORY_SIZES
    ]
    if not ours:
        return None
    count = Coverage()
    for place, theirs in paper.FIGURES.items():
        row = _row(ours, place)
        figure = row.figures[place.metric] if row is not None else None
        if figure is None or figure.ours is None:
            reason = _reason(place, row)
            count.missing.setdefault(reason, []).append(place)
        else:
            count.verdicts[_verdict(figure, theirs is None)] += 1
    return count


def _row(tables: Sequence[Table], place: paper.Place) -> Row | None:
    """The row of ours that counts; None if there is none with runs."""
    for table in tables:
        for row in table.rows:
            if (
                (table.benchmark, row.memory, row.method) == place[:3]
                and row.group.runs
                and row.group.first.method_settings["train_per_domain"] is None
            ):
                return row
    return None


def _verdict(figure: Figure, is_without_number: bool) -> str:
    assert figure.ours is not None
    if is_without_number:
        return "without a number in the paper"
    if figure.ours.deviation is None:
        return "with one seed only"
    return figure.verdict or "as good"


def _reason(place: paper.Place, row: Row | None) -> str:
    if row is not None:
        return WITHOUT_FIGURE
    data = BENCHMARKS[place.benchmark].settings.model_fields["data"]
    return WITHOUT_IMAGES if role_of(data) is Role.TASK else WITHOUT_RUNS


def _by_table(places: Sequence[paper.Place]) -> Iterator[tuple[str, int, str]]:
    """The title of each table, how many of its figures are there, and of whom."""
    tables: dict[str, list[str]] = {}
    for place in places:
        kept = int(place.memory) if place.memory.isdigit() else None
        title = paper.task_title(place.benchmark, {}, kept)
        tables.setdefault(title, []).append(place.method)
    for title, methods in tables.items():
        yield title, len(methods), ", ".join(dict.fromkeys(methods))

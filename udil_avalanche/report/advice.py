"""Which method to use for which benchmark, and at what cost, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from udil_avalanche.formatting import duration, megabytes
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.statistic import Statistic
from udil_avalanche.report.tables import Row, Table
from udil_avalanche.settings import keeps_samples

CLOSE = 1.0
"""So many points of average accuracy below the best still count as close to it."""


@dataclass(frozen=True)
class Advice:
    """What a table says to somebody who has to choose a method.

    :param table: the table.
    :param best: the row with the highest average accuracy, joint training apart.
    :param sentences: the reasons, and the alternatives.
    """

    table: Table
    best: Row
    sentences: tuple[str, ...]


def advice(table: Table) -> Advice | None:
    """What the table says; None if no method that learns the domains one after another
    has been measured.

    :param table: the table.
    """
    measured = [row for row in table.rows if row.figures["avg_acc"].ours is not None]
    ranked = sorted(
        (row for row in measured if row.method != "Joint"),
        key=lambda row: _mean(row),
        reverse=True,
    )
    if not ranked:
        return None
    best = ranked[0]
    sentences = [
        _best(best),
        *_runner_up(ranked),
        *_cheaper(ranked),
        *_without_memory(ranked),
        *_joint(measured, best),
        *_reservations(table, ranked),
    ]
    return Advice(table, best, tuple(sentences))


def cost(cell: SeedGroup) -> str:
    """Time and memory of a run, in words."""
    known = [duration(cell.seconds), megabytes(cell.peak_memory)]
    return ", ".join(filter(None, known))


def _best(best: Row) -> str:
    forgetting = best.figures["forgetting"].ours
    lost = "" if forgetting is None else f", and it has forgotten {forgetting} points"
    assert best.cell is not None
    return (
        f"Use {best.name}: after the last domain its accuracy over all domains is "
        f"{_accuracy(best)} %{lost}. A run takes {cost(best.cell)}."
    )


def _runner_up(ranked: Sequence[Row]) -> list[str]:
    if len(ranked) < 2:
        return []
    best, second = ranked[:2]
    difference = _mean(best) - _mean(second)
    ours, others = _accuracy(best), _accuracy(second)
    if ours.deviation is None or others.deviation is None:
        unsure = ", which one seed cannot tell from chance"
    elif ours.is_clear_of(others):
        unsure = ""
    else:
        unsure = ", which may be chance: it is not outside both deviations"
    return [
        f"Next comes {second.name} with {_accuracy(second)} %, "
        f"{difference:.1f} points less{unsure}."
    ]


def _cheaper(ranked: Sequence[Row]) -> list[str]:
    best = ranked[0]
    assert best.cell is not None
    close = [
        (row.cell.seconds, row)
        for row in ranked[1:]
        if row.cell is not None and _mean(best) - _mean(row) <= CLOSE
    ]
    if not close:
        return []
    seconds, row = min(close, key=lambda pair: pair[0])
    if seconds > best.cell.seconds / 1.25:
        return []
    return [
        f"If time matters: {row.name} stays within {CLOSE:.0f} point of it in "
        f"{duration(seconds)}, {best.cell.seconds / seconds:.1f} times as fast."
    ]


def _without_memory(ranked: Sequence[Row]) -> list[str]:
    free = [row for row in ranked if not keeps_samples(row.method)]
    if not free or free[0] is ranked[0]:
        return []
    assert free[0].cell is not None
    return [
        f"If no old sample may be kept: {free[0].name} with {_accuracy(free[0])} % "
        f"in {duration(free[0].cell.seconds)}."
    ]


def _joint(measured: Sequence[Row], best: Row) -> list[str]:
    joint = [row for row in measured if row.method == "Joint"]
    if not joint:
        return []
    missing = _mean(joint[0]) - _mean(best)
    return [
        f"Training on all domains at once, where all data may be kept, gives "
        f"{_accuracy(joint[0])} %: {abs(missing):.1f} points "
        f"{'more' if missing >= 0 else 'less'}."
    ]


def _reservations(table: Table, ranked: Sequence[Row]) -> list[str]:
    missing = [row.method for row in table.rows if row.cell is None]
    said = []
    if missing:
        said.append(f"Not measured yet: {', '.join(missing)}.")
    single = {
        row.name for row in ranked if row.cell is not None and len(row.cell.runs) < 2
    }
    if single:
        said.append(f"From one seed only: {', '.join(sorted(single))}.")
    return said


def _accuracy(row: Row) -> Statistic:
    found = row.figures["avg_acc"].ours
    assert found is not None
    return found


def _mean(row: Row) -> float:
    return _accuracy(row).mean


__all__ = ["Advice", "advice", "cost"]

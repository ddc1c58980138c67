"""Which method to use for which benchmark, and at what cost, in plain words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from udil_avalanche.formatting import duration
from udil_avalanche.report import paper
from udil_avalanche.report.tables import Row, Table

CLOSE = 1.0
"""A method counts as close if it is at most this many points below the best."""

FASTER = 1.25
"""A close method is worth naming if the best takes at least this many times as long."""


@dataclass(frozen=True)
class Advice:
    """What a table says to somebody who has to choose a method.

    :param best: the row with the highest average accuracy, joint training aside.
    :param sentences: the reasons and the alternatives.
    """

    best: Row
    sentences: tuple[str, ...]


def advice(table: Table) -> Advice | None:
    """What a table recommends; None if it has no figures of ours besides those of joint
    training.

    :param table: the table.
    """
    ranked = sorted(
        (row for row in table.measured if not paper.is_joint(row.method)),
        key=_accuracy,
        reverse=True,
    )
    if not ranked:
        return None
    sentences = [*_best(ranked), *_alternatives(ranked), *_limits(table, ranked)]
    return Advice(ranked[0], tuple(sentences))


def _best(ranked: Sequence[Row]) -> Iterator[str]:
    best, *others = ranked
    forgetting = best.figures["forgetting"].ours
    lost = "" if forgetting is None else f", and it has forgotten {forgetting} points"
    yield (
        f"Use {best.name}: after the last domain its average accuracy is "
        f"{best.group.accuracy} %{lost}. A run takes {best.group.cost}."
    )
    if not others:
        return
    ours, theirs = best.group.accuracy, others[0].group.accuracy
    if ours.deviation is None or theirs.deviation is None:
        doubt = ", but with one seed that may be chance"
    elif ours.is_clear_of(theirs):
        doubt = ""
    else:
        doubt = ", which may be chance: it is within one standard deviation"
    gap = f"{ours.mean - theirs.mean:.1f} points less"
    yield f"Second is {others[0].name} with {theirs} %, {gap}{doubt}."


def _alternatives(ranked: Sequence[Row]) -> Iterator[str]:
    best, *others = ranked
    close = [row for row in others if _accuracy(best) - _accuracy(row) <= CLOSE]
    if close:
        fastest = min(close, key=lambda row: row.group.seconds)
        speedup = best.group.seconds / fastest.group.seconds
        if speedup >= FASTER:
            yield (
                f"If time matters: {fastest.name} is within {CLOSE:.0f} point of it "
                f"and takes {duration(fastest.group.seconds)}, {speedup:.1f} times as "
                "fast."
            )
    free = [row for row in ranked if not paper.has_memory(row.method)]
    if free and free[0] is not best:
        yield (
            f"If no old samples may be kept: {free[0].name} reaches "
            f"{free[0].group.accuracy} % in {duration(free[0].group.seconds)}."
        )


def _limits(table: Table, ranked: Sequence[Row]) -> Iterator[str]:
    joint = [row for row in table.measured if paper.is_joint(row.method)]
    if joint:
        gain = _accuracy(joint[0]) - _accuracy(ranked[0])
        yield (
            "Training on all domains at once, if all data may be kept, reaches "
            f"{joint[0].group.accuracy} %: {abs(gain):.1f} points "
            f"{'more' if gain >= 0 else 'less'}."
        )
    missing = [row.method for row in table.rows if not row.group.runs]
    if missing:
        yield f"Not measured yet: {', '.join(missing)}."
    single = [row.name for row in ranked if len(row.group.runs) == 1]
    if single:
        yield f"Measured with one seed only: {', '.join(sorted(single))}."


def _accuracy(row: Row) -> float:
    return row.group.accuracy.mean

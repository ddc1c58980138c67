"""The pictures of a model's history, as data addresses with the whole picture."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from udil_avalanche.evaluation.data_addresses import svg_address
from udil_avalanche.learner.history import History, accuracy, mean_accuracy
from udil_avalanche.learner.version import VersionRecord

LARGEST_DIVERGENCE = 2.0
"""That of domains that a classifier tells apart without a mistake."""

COEFFICIENTS = (
    (r"$\alpha$", "intra-domain distillation"),
    (r"$\beta$", "cross-domain distillation"),
    (r"$\gamma$", "replay with labels"),
)

_IN_USE, _ON_THE_LINE, _BESIDE = "#d62728", "#1f77b4", "#7f7f7f"
_MOST_NAMES_IN_A_COLUMN = 14
_MOST_NUMBERED_CELLS = 150
_MOST_TICKS = 25


def accuracy_picture(history: History) -> str:
    """The accuracy of each domain over the versions. Versions beside the line that
    leads to the one in use are hollow, and hang from their parents by dots.

    :param history: the versions.
    """
    fig = Figure(figsize=(9.5, 4.8), layout="constrained")
    ax = fig.subplots()
    line = history.line
    by_number = {record.number: record for record in history.records}
    on_the_line = {record.number for record in line}
    shades = np.linspace(0, 0.92, len(history.domains))
    colors = matplotlib.colormaps["viridis"](shades)
    for name, color in zip(history.domains, colors, strict=True):
        x, y = _known(line, [accuracy(record, name) for record in line])
        ax.plot(x, y, "o-", color=color, lw=1.5, ms=4, label=_literal(name))
        for record in history.records:
            found = accuracy(record, name)
            if record.number in on_the_line or found is None:
                continue
            hollow: dict[str, Any] = {"color": color, "mfc": "white", "ms": 5}
            ax.plot(record.number, found, "o", **hollow)
            parent = by_number.get(record.parent or 0)
            start = None if parent is None else accuracy(parent, name)
            if parent is not None and start is not None:
                ends = [parent.number, record.number], [start, found]
                ax.plot(*ends, ":", color=color, lw=1)
    x, y = _known(line, [mean_accuracy(record) for record in line])
    ax.plot(x, y, "o-", color="black", lw=3, ms=5, label="mean of the domains learned")
    ax.set(xlabel="version", ylabel="accuracy on the reserve (%)")
    ax.set_ylim(_lower_end(history), 102)
    numbers = [record.number for record in history.records]
    ax.set_xticks(numbers[:: -(-len(numbers) // _MOST_TICKS)])
    ax.set_xlim(numbers[0] - 0.5, numbers[-1] + 0.5)
    ax.grid(alpha=0.25)
    columns = -(-(len(history.domains) + 1) // _MOST_NAMES_IN_A_COLUMN)
    fig.legend(loc="outside right upper", ncols=columns, fontsize="small")
    return svg_address(fig)


def lineage_picture(history: History) -> str | None:
    """Which version continues which; ``None`` if each continues the one before it.

    :param history: the versions.
    """
    on_the_line = {record.number for record in history.line}
    if len(on_the_line) == len(history.records):
        return None
    lanes = _lanes(history)
    height = 1.2 + 0.6 * (max(lanes.values()) + 1)
    width = max(4.5, min(11.0, 1.5 + 1.1 * len(history.records)))
    fig = Figure(figsize=(width, height), layout="constrained")
    ax = fig.subplots()
    for record in history.records:
        here = record.number, -lanes[record.number]
        if record.parent in lanes:
            start = record.parent, -lanes[record.parent]
            ax.plot(*zip(start, here, strict=True), color=_BESIDE, lw=1.5, zorder=1)
        color = _ON_THE_LINE if record.number in on_the_line else _BESIDE
        if record.number == history.current:
            color = _IN_USE
        beside = record.number not in on_the_line
        ax.plot(*here, "o", color=color, mfc="white" if beside else color, ms=16)
        ink = color if beside else "white"
        ax.annotate(
            str(record.number), here, color=ink, ha="center", va="center", size=9
        )
        below: dict[str, Any] = {"xytext": (0, -12), "textcoords": "offset points"}
        shown = _literal(_shortened(record.domain))
        ax.annotate(shown, here, ha="center", va="top", size=8, **below)
    ax.set_xlim(history.records[0].number - 0.6, history.records[-1].number + 0.6)
    ax.set_ylim(-max(lanes.values()) - 0.7, 0.5)
    ax.set_axis_off()
    return svg_address(fig)


def divergence_picture(history: History) -> str | None:
    """How far each new domain was from the earlier ones, measured while it was learned;
    ``None`` if nothing was measured.

    :param history: the versions.
    """
    measured = [each for each in history.line if each.measured.get("divergence")]
    if not measured:
        return None
    past = _past(measured, "divergence")
    values = np.full((len(past), len(measured)), np.nan)
    for column, record in enumerate(measured):
        for name, value in record.measured["divergence"].items():
            values[past.index(name), column] = value
    fig = Figure(figsize=_size(values, panels=1), layout="constrained")
    ax = fig.subplots()
    image = _matrix(ax, values, measured, past, LARGEST_DIVERGENCE)
    ax.set_ylabel("earlier domain")
    fig.colorbar(image, ax=ax, label="divergence: 0 the same, 2 foreign", pad=0.02)
    return svg_address(fig)


def omega_picture(history: History) -> str | None:
    """The coefficients that each domain was learned with; ``None`` if the method has
    none.

    :param history: the versions.
    """
    measured = [each for each in history.line if each.measured.get("omega")]
    if not measured:
        return None
    past = _past(measured, "omega")
    values = np.full((3, len(past), len(measured)), np.nan)
    for column, record in enumerate(measured):
        for name, omega in record.measured["omega"].items():
            values[:, past.index(name), column] = omega
    fig = Figure(figsize=_size(values[0], panels=3), layout="constrained")
    panels = fig.subplots(1, 3, sharey=True)
    for ax, matrix, (symbol, meaning) in zip(panels, values, COEFFICIENTS, strict=True):
        image = _matrix(ax, matrix, measured, past, 1.0)
        ax.set_title(f"{symbol}: {meaning}", fontsize="medium")
    panels[0].set_ylabel("earlier domain")
    fig.colorbar(image, ax=panels, label="coefficient", pad=0.01)
    return svg_address(fig)


def _known(
    records: Sequence[VersionRecord], values: Sequence[float | None]
) -> tuple[list[int], list[float]]:
    """The numbers and the values of those versions that have one."""
    found = zip(records, values, strict=True)
    known = [(record.number, y) for record, y in found if y is not None]
    return [number for number, _ in known], [y for _, y in known]


def _lower_end(history: History) -> float:
    """A ten below all accuracies, so that differences between them can be seen."""
    found = [
        accuracy(record, name) for record in history.records for name in record.names
    ]
    lowest = min((value for value in found if value is not None), default=0.0)
    return max(-2.0, 10 * ((lowest - 5) // 10))


def _lanes(history: History) -> dict[int, int]:
    """A height for each version: 0 on the line, and one for each branch beside it."""
    lanes = {record.number: 0 for record in history.line}
    ends: dict[int, int] = {}
    for record in history.records:
        if record.number in lanes:
            continue
        lane = ends.pop(record.parent or 0, max(lanes.values()) + 1)
        lanes[record.number] = ends[record.number] = lane
    return lanes


def _past(records: Sequence[VersionRecord], what: str) -> list[str]:
    names = (name for record in records for name in record.measured[what])
    return list(dict.fromkeys(names))


def _size(values: NDArray[Any], panels: int) -> tuple[float, float]:
    rows, columns = values.shape
    cell = 0.55 if max(rows, columns) <= 10 else max(0.16, 5.5 / max(rows, columns))
    width = max(4.6, panels * max(2.8, cell * columns) + 2.2)
    return min(14.0, width), max(2.6, cell * rows + 1.9)


def _matrix(
    ax: Axes,
    values: NDArray[Any],
    records: Sequence[VersionRecord],
    past: Sequence[str],
    highest: float,
) -> AxesImage:
    """A matrix in colours: a row for each earlier domain, a column for each version."""
    image = ax.imshow(values, cmap="viridis", vmin=0, vmax=highest, aspect="auto")
    columns = [f"{record.number}: {_shortened(record.domain)}" for record in records]
    for set_ticks, names, turn in (
        (ax.set_xticks, columns, 90),
        (ax.set_yticks, [_shortened(name) for name in past], 0),
    ):
        shown = range(0, len(names), -(-len(names) // _MOST_TICKS))
        labels = [_literal(names[k]) for k in shown]
        set_ticks(list(shown), labels, rotation=turn, fontsize=8)
    ax.set_xlabel("version, and the domain that it learned")
    if values.size <= _MOST_NUMBERED_CELLS:
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                color = "black" if value > 0.6 * highest else "white"
                ax.text(
                    column,
                    row,
                    f"{value:.2f}",
                    color=color,
                    ha="center",
                    va="center",
                    fontsize=8,
                )
    return image


def _literal(text: str) -> str:
    """A text in which Matplotlib sees no formulas."""
    return text.replace("$", r"\$")


def _shortened(name: str, most: int = 18) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"

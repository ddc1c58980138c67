"""The pictures of the report, as addresses that hold the picture itself."""

import base64
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from udil_avalanche.evaluation.plots import figure_to_image, plot_coefficients
from udil_avalanche.report.curves import (
    accuracy_curves,
    coefficients,
    forgetting_curves,
    mean_matrix,
)
from udil_avalanche.report.labels import label_points
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.tables import Row, Table
from udil_avalanche.settings import keeps_samples

_COLUMNS = 4
_MOST_NAMED_LABELS = 20
_COLORS_OF_A_PNG = 128
_COLORS = {
    "Fine-tune": "#7f7f7f",
    "oEWC": "#bcbd22",
    "SI": "#17becf",
    "LwF": "#8c564b",
    "GEM": "#9467bd",
    "A-GEM": "#c5a3e0",
    "ER": "#1f77b4",
    "DER++": "#ff7f0e",
    "CLS-ER": "#2ca02c",
    "ESM-ER": "#e377c2",
    "UDIL": "#d62728",
    "Joint": "#000000",
}


def curves_picture(table: Table) -> str:
    """Average accuracy and forgetting after each domain, a line for each method.

    :param table: the methods.
    """
    fig = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = fig.subplots(1, 2)
    for row in _measured(table):
        assert row.cell is not None
        _curve(left, row, accuracy_curves(row.cell))
        _curve(right, row, forgetting_curves(row.cell))
    left.set(title="Average accuracy over the domains learned", ylabel="percent")
    right.set(title="Forgetting", ylabel="points")
    for ax in (left, right):
        ax.set_xlabel("after domain")
        ax.grid(alpha=0.25)
        ax.locator_params(axis="x", integer=True)
    handles, labels = left.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside right center", frameon=False)
    return _svg(fig)


def cost_picture(table: Table) -> str:
    """Average accuracy over time, a point for each method, and the peak memory.

    :param table: the methods.
    """
    rows = _measured(table)
    fig = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = fig.subplots(1, 2)
    points = []
    for row in rows:
        accuracy = row.figures["avg_acc"].ours
        assert row.cell is not None and accuracy is not None
        minutes = row.cell.seconds / 60
        left.errorbar(
            minutes,
            accuracy.mean,
            yerr=accuracy.deviation,
            fmt="o" if keeps_samples(row.method) else "s",
            color=_color(row.method),
        )
        points.append((minutes, accuracy.mean))
    left.set(
        title="Average accuracy over the time of a run",
        xlabel="minutes (logarithmic)",
        ylabel="percent",
        xscale="log",
    )
    left.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.xaxis.set_major_formatter("{x:g}")
    left.xaxis.set_minor_locator(NullLocator())
    left.margins(x=0.2, y=0.1)
    left.grid(alpha=0.25)
    memory = [(row, row.cell.peak_memory) for row in rows if row.cell]
    known = [(row, megabytes) for row, megabytes in memory if megabytes is not None]
    right.barh(
        [row.name for row, _ in known],
        [megabytes for _, megabytes in known],
        color=[_color(row.method) for row, _ in known],
    )
    right.invert_yaxis()
    right.set(title="Peak memory of a run", xlabel="MB")
    if not known:
        right.text(0.5, 0.5, "not measured", ha="center", transform=right.transAxes)
        right.set_axis_off()
    label_points(left, [row.name for row in rows], points)
    return _svg(fig)


def matrices_picture(table: Table) -> str:
    """The accuracy matrices of all methods, on average over the seeds.

    :param table: the methods.
    """

    def draw(ax: Axes, row: Row) -> Any:
        assert row.cell is not None
        matrix = mean_matrix(row.cell)
        extent = (0.5, matrix.shape[1] + 0.5, matrix.shape[0] + 0.5, 0.5)
        ax.locator_params(integer=True, nbins=5)
        return ax.imshow(matrix, cmap="viridis", vmin=0, vmax=100, extent=extent)

    fig, panels, images = _grid(_measured(table), draw, side=2.4)
    fig.supxlabel("tested on domain")
    fig.supylabel("after domain")
    fig.colorbar(images[0], ax=panels, label="accuracy (%)", aspect=40, pad=0.01)
    return _png(fig)


def coefficients_pictures(table: Table) -> list[tuple[str, str]]:
    """Names and pictures of the coefficients of every method that learns them, on the
    first seed.

    :param table: the methods.
    """
    found = []
    for row in _measured(table):
        assert row.cell is not None
        history = coefficients(row.cell.runs[0])
        if history:
            name = f"{row.name}, seed {row.cell.runs[0].seed}"
            found.append((name, _png(plot_coefficients(history), dpi=75)))
    return found


def embeddings_picture(table: Table, colour: str) -> str | None:
    """The embeddings after the last domain in the plane of their principal components,
    on the first seed that has kept them; None if none has.

    :param table: the methods.
    :param colour: ``label`` or ``domain``.
    """
    stored = {
        id(row): points
        for row in _measured(table)
        if row.cell is not None and (points := _embeddings(row.cell)) is not None
    }
    rows = [row for row in _measured(table) if id(row) in stored]
    if not rows:
        return None
    largest = max(max(points[colour]) for points in stored.values())
    smallest = 1 if colour == "domain" else 0
    count = largest - smallest + 1
    few = colour == "label" and count <= 10
    colours = matplotlib.colormaps["tab10" if few else "viridis"]

    def draw(ax: Axes, row: Row) -> Any:
        points = stored[id(row)]
        explained = sum(points["explained"])
        ax.set_xlabel(f"{explained:.0%} of the variance", fontsize="small")
        ax.set_xticks([])
        ax.set_yticks([])
        return ax.scatter(
            points["x"],
            points["y"],
            c=points[colour],
            s=4,
            cmap=colours,
            vmin=-0.5 if few else smallest,
            vmax=9.5 if few else largest,
            linewidths=0,
        )

    fig, panels, images = _grid(rows, draw, side=2.5)
    bar = fig.colorbar(images[0], ax=panels, label=colour, aspect=40, pad=0.01)
    if count <= _MOST_NAMED_LABELS:
        bar.set_ticks(list(range(smallest, largest + 1)))
    if few:
        bar.ax.set_ylim(-0.5, largest + 0.5)
    return _png(fig)


def _measured(table: Table) -> list[Row]:
    return [row for row in table.rows if row.figures["avg_acc"].ours is not None]


def _color(method: str) -> str:
    return _COLORS.get(method, "#404040")


def _curve(ax: Axes, row: Row, curves: npt.NDArray[np.float64]) -> None:
    mean = curves.mean(axis=0)
    if np.isnan(mean[:-1]).all():
        if not np.isnan(mean[-1]):
            ax.axhline(mean[-1], color="black", ls="--", label=row.name)
        return
    after = np.arange(1, len(mean) + 1)
    emphasis = 2.8 if row.method == "UDIL" else 1.4
    style = "-" if keeps_samples(row.method) else ":"
    color = _color(row.method)
    ax.plot(after, mean, style, color=color, lw=emphasis, label=row.name)
    if len(curves) > 1:
        spread = curves.std(axis=0, ddof=1)
        ax.fill_between(
            after, mean - spread, mean + spread, color=color, alpha=0.15, lw=0
        )


def _grid(
    rows: Sequence[Row], draw: Callable[[Axes, Row], Any], side: float
) -> tuple[Figure, list[Axes], list[Any]]:
    columns = min(_COLUMNS, len(rows))
    lines = -(-len(rows) // columns)
    size = (side * columns + 1.2, side * lines + 0.6)
    fig = Figure(figsize=size, layout="constrained")
    panels = list(fig.subplots(lines, columns, squeeze=False).flat)
    images = []
    for ax, row in zip(panels, rows, strict=False):
        ax.set_title(row.name, fontsize="medium")
        images.append(draw(ax, row))
    for ax in panels[len(rows) :]:
        ax.set_axis_off()
    return fig, panels, images


def _embeddings(cell: SeedGroup) -> dict[str, Any] | None:
    files = (run.folder / "embeddings.json" for run in cell.runs)
    kept = next((file for file in files if file.exists()), None)
    return None if kept is None else json.loads(kept.read_text())


def _svg(fig: Figure) -> str:
    written = io.BytesIO()
    # Without a date and random names the same runs give the same page, byte for byte.
    with matplotlib.rc_context({"svg.hashsalt": "report", "svg.fonttype": "none"}):
        fig.savefig(written, format="svg", metadata={"Date": None})
    return _address("image/svg+xml", written)


def _png(fig: Figure, dpi: int = 100) -> str:
    written = io.BytesIO()
    fig.set_dpi(dpi)
    # Few colours make a file a third as large, and nobody sees the difference.
    figure_to_image(fig).quantize(_COLORS_OF_A_PNG).save(written, format="png")
    return _address("image/png", written)


def _address(media: str, written: io.BytesIO) -> str:
    return f"data:{media};base64,{base64.b64encode(written.getvalue()).decode()}"


__all__ = [
    "coefficients_pictures",
    "cost_picture",
    "curves_picture",
    "embeddings_picture",
    "matrices_picture",
]

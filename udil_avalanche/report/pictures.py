"""The pictures of the report, as data addresses that contain the whole picture."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from udil_avalanche.evaluation import plots
from udil_avalanche.evaluation.data_addresses import png_address, svg_address
from udil_avalanche.evaluation.formulas import average_accuracy, forgetting
from udil_avalanche.report import paper
from udil_avalanche.report.labels import label_points
from udil_avalanche.report.tables import Row, Table

T = TypeVar("T")

_COLUMNS = 4
_MOST_TICKS = 20
_EMPHASISED = "UDIL"
_BLACK = "#000000"
_PALETTE = [
    *("#7f7f7f", "#bcbd22", "#17becf", "#8c564b", "#9467bd", "#c5a3e0"),
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#e377c2", "#d62728"),
]
"""The colours of the methods in the order of the tables. UDIL is the 11th: red."""


def curves_picture(table: Table) -> str:
    """Average accuracy and forgetting after each domain, a line for each method.

    :param table: the methods.
    """
    fig = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = fig.subplots(1, 2)
    for ax, formula in ((left, average_accuracy), (right, forgetting)):
        for row in table.measured:
            _curve(ax, row, formula)
        ax.set_xlabel("after domain")
        ax.grid(alpha=0.25)
        ax.locator_params(axis="x", integer=True)
        if not ax.lines:
            ax.text(0.5, 0.5, "not known", ha="center", transform=ax.transAxes)
            ax.set_axis_off()
    left.set(title="Average accuracy over the domains learned", ylabel="percent")
    right.set(title="Forgetting", ylabel="points")
    handles, labels = left.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside right center", frameon=False)
    return svg_address(fig)


def cost_picture(table: Table) -> str:
    """Average accuracy against time, a point for each method, and the peak memory.

    :param table: the methods.
    """
    fig = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = fig.subplots(1, 2)
    points = {}
    for row in table.measured:
        group, color = row.group, _color(row.method)
        mean, deviation = group.accuracy.mean, group.accuracy.deviation
        minutes = group.seconds / 60
        points[row.name] = (minutes, mean)
        marker = "o" if paper.has_memory(row.method) else "s"
        left.errorbar(minutes, mean, yerr=deviation, fmt=marker, color=color)
        if group.peak_memory is not None:
            right.barh(row.name, group.peak_memory, color=color)
    left.set(
        title="Average accuracy against the time of a run",
        xlabel="minutes (logarithmic)",
        ylabel="percent",
        xscale="log",
    )
    left.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.xaxis.set_major_formatter("{x:g}")
    left.xaxis.set_minor_locator(NullLocator())
    left.margins(x=0.2, y=0.1)
    left.grid(alpha=0.25)
    right.invert_yaxis()
    right.set(title="Peak memory of a run", xlabel="MB")
    if not right.patches:
        right.text(0.5, 0.5, "not measured", ha="center", transform=right.transAxes)
        right.set_axis_off()
    label_points(left, points)
    return svg_address(fig)


def matrices_picture(table: Table) -> str:
    """The accuracy matrices of all methods, averaged over the seeds.

    :param table: the methods.
    """

    def draw(ax: Axes, matrix: npt.NDArray[np.float64]) -> ScalarMappable:
        ax.locator_params(integer=True, nbins=5)
        return plots.show_matrix(ax, plots.between_tests(matrix))

    matrices = {
        row.name: np.mean([run.accuracy_matrix for run in row.group.runs], axis=0)
        for row in table.measured
    }
    fig, _ = _grid(matrices, draw, side=2.4, label="accuracy (%)")
    fig.supxlabel("tested on domain")
    fig.supylabel("after domain")
    return png_address(fig)


def coefficients_pictures(table: Table) -> dict[str, str]:
    """The coefficients of every method that learns them, on the first seed, by name.

    :param table: the methods.
    """
    pictures = {}
    for row in table.measured:
        run = row.group.first
        if run.coefficients:
            picture = png_address(plots.plot_coefficients(run.coefficients), dpi=75)
            pictures[f"{row.name}, seed {run.seed}"] = picture
    return pictures


def embeddings_picture(table: Table, colour: str) -> str | None:
    """The embeddings after the last domain, projected onto their principal components,
    of the first seed that stored them; None if none did.

    :param table: the methods.
    :param colour: ``label`` or ``domain``.
    """
    found = {row.name: row.group.embeddings for row in table.measured}
    stored = {name: points for name, points in found.items() if points is not None}
    if not stored:
        return None
    first = 1 if colour == "domain" else 0
    last = max(max(points[colour]) for points in stored.values())
    few = colour == "label" and last < 10
    scale: dict[str, Any] = {"cmap": "viridis", "vmin": first, "vmax": last}
    if few:
        scale = {"cmap": "tab10", "vmin": -0.5, "vmax": 9.5}

    def draw(ax: Axes, points: dict[str, Any]) -> ScalarMappable:
        explained = sum(points["explained"])
        ax.set_xlabel(f"{explained:.0%} of the variance", fontsize="small")
        ax.set(xticks=[], yticks=[])
        x, y, shown = points["x"], points["y"], points[colour]
        return ax.scatter(x, y, s=4, c=shown, linewidths=0, **scale)

    fig, bar = _grid(stored, draw, side=2.5, label=colour)
    if last - first < _MOST_TICKS:
        bar.set_ticks(list(range(first, last + 1)))
    if few:
        bar.ax.set_ylim(-0.5, last + 0.5)
    return png_address(fig)


def _color(method: str) -> str:
    if paper.is_joint(method):
        return _BLACK
    return _PALETTE[paper.METHODS.index(method) % len(_PALETTE)]


def _curve(ax: Axes, row: Row, formula: Callable[[npt.ArrayLike, int], float]) -> None:
    matrices = [run.accuracy_matrix for run in row.group.runs]
    seeds = np.array([[formula(R, t) for t in range(1, len(R) + 1)] for R in matrices])
    mean = seeds.mean(axis=0)
    color = _color(row.method)
    if np.isnan(mean[:-1]).all():
        if not np.isnan(mean[-1]):
            ax.axhline(mean[-1], color=color, ls="--", label=row.name)
        return
    # A long stream may not have been tested after every domain.
    known = np.flatnonzero(~np.isnan(mean))
    after, mean, seeds = known + 1, mean[known], seeds[:, known]
    width = 2.8 if row.method == _EMPHASISED else 1.4
    style = "-" if paper.has_memory(row.method) else ":"
    ax.plot(after, mean, style, color=color, lw=width, label=row.name)
    if len(seeds) > 1:
        spread = seeds.std(axis=0, ddof=1)
        ax.fill_between(
            after, mean - spread, mean + spread, color=color, alpha=0.15, lw=0
        )


def _grid(
    panels: Mapping[str, T],
    draw: Callable[[Axes, T], ScalarMappable],
    side: float,
    label: str,
) -> tuple[Figure, Colorbar]:
    """A panel for each method, and a colour bar for all."""
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    size = (side * columns + 1.2, side * lines + 0.6)
    fig = Figure(figsize=size, layout="constrained")
    axes = list(fig.subplots(lines, columns, squeeze=False).flat)
    for ax, (name, content) in zip(axes, panels.items(), strict=False):
        ax.set_title(name, fontsize="medium")
        image = draw(ax, content)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return fig, fig.colorbar(image, ax=axes, label=label, aspect=40, pad=0.01)

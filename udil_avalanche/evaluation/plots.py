"""Pictures of a run: figures from arrays, and files from figures.

Figures are built without pyplot, so nothing here needs a display, keeps global
state or leaks figures in a long run.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from udil_avalanche.evaluation.formulas import average_accuracy, checked_matrix
from udil_avalanche.files import atomic_write

_DPI = 120
_COLORMAP = "viridis"
_MOST_ANNOTATED_DOMAINS = 20
_MOST_TICKS = 20
_MOST_LINES = 50
_COEFFICIENTS = (
    r"$\alpha_i$: intra-domain distillation",
    r"$\beta_i$: cross-domain distillation",
    r"$\gamma_i$: replay with labels",
)


def plot_accuracy_matrix(R: npt.ArrayLike) -> Figure:
    """Heat map of the accuracy matrix, with the numbers in it up to 20 domains.

    :param R: accuracies in percent, row = after this domain, column = tested on
        this domain; NaN cells stay blank, but see :func:`between_tests`.
    :return: the figure.
    """
    accuracies = between_tests(checked_matrix(R, rows=1, columns=1))
    rows, columns = accuracies.shape
    domains = max(rows, columns)
    cell = 0.6 if domains <= 10 else min(0.4, 8 / domains)
    fig = new_figure(max(4.5, cell * columns + 2), max(3.5, cell * rows + 1.2))
    ax = fig.subplots()
    image = show_matrix(ax, accuracies)
    ax.set(title="Accuracy matrix", xlabel="tested on domain", ylabel="after domain")
    ax.set_xticks(domain_ticks(1, columns))
    ax.set_yticks(domain_ticks(1, rows))
    fig.colorbar(image, ax=ax, label="accuracy (%)", aspect=30, pad=0.02)
    if domains <= _MOST_ANNOTATED_DOMAINS:
        _annotate(ax, accuracies, decimals=1 if domains <= 10 else 0)
    return fig


def plot_accuracy_per_domain(R: npt.ArrayLike) -> Figure:
    """Accuracy of each test domain over time, and their average.

    A line is dotted until its domain is learned and solid from then on. The thick
    black line is the average accuracy over the domains learned. Of more than 50 domains
    only some have a line.

    :param R: accuracies in percent, row = after this domain, column = tested on
        this domain; lines go on from one measured accuracy to the next.
    :return: the figure.
    """
    accuracies = checked_matrix(R, rows=1, columns=1)
    rows, columns = accuracies.shape
    after = np.arange(1, rows + 1)
    colors = _line_colors(columns)
    fig = new_figure(9, 5.4)
    ax = fig.subplots()
    dot: dict[str, Any]
    # Of a long stream only some lines: nobody can follow a thousand.
    for domain in range(0, columns, -(-columns // _MOST_LINES)):
        line = accuracies[:, domain]
        color = colors(domain)
        before, since = _measured(line[: domain + 1]), domain + _measured(line[domain:])
        ax.plot(after[before], line[before], ":", color=color, lw=1)
        dot = {"marker": "o", "markevery": [0] if len(since) else []}
        ax.plot(after[since], line[since], color=color, lw=1.3, **dot)
    average = np.array([average_accuracy(accuracies, t) for t in after if t <= columns])
    known = _measured(average)
    dot = {"marker": "o"} if len(known) == 1 else {}
    label = "average over the domains learned"
    ax.plot(after[known], average[known], color="black", lw=3.5, label=label, **dot)
    ax.plot([], [], ":", color="gray", label="before the domain is learned")
    ax.set(
        title="Accuracy of each domain over time",
        xlabel="after domain",
        ylabel="accuracy (%)",
        ylim=(-2, 102),
    )
    ax.set_xticks(domain_ticks(1, rows))
    ax.grid(alpha=0.25)
    ax.legend(loc="lower left")
    _add_domain_colorbar(fig, ax, columns)
    return fig


def plot_coefficients(history: Sequence[npt.ArrayLike]) -> Figure:
    """Heat maps of the coefficients that each domain ended with.

    :param history: for each domain t = 2, ..., T an array of shape (t - 1, 3) with
        the (alpha_i, beta_i, gamma_i) of the past domains i at the end of domain t.
    :return: the figure.
    """
    if len(history) == 0:
        raise ValueError(
            "The history of coefficients is empty; it starts with domain 2."
        )
    coefficients = [np.asarray(entry, dtype=np.float64) for entry in history]
    for t, values in enumerate(coefficients, start=2):
        if values.shape != (t - 1, 3):
            raise ValueError(
                f"The coefficients of domain {t} have shape {values.shape}; "
                f"{t - 1} past domains need {(t - 1, 3)}."
            )
    fig = new_figure(13, 4.8)
    fig.suptitle("Coefficients at the end of each domain")
    shown = [
        (title, 1.0, [values[:, k] for values in coefficients])
        for k, title in enumerate(_COEFFICIENTS)
    ]
    images = show_past_domains(fig, shown)
    fig.colorbar(images[-1], ax=fig.axes, label="coefficient", pad=0.01)
    return fig


def show_past_domains(
    fig: Figure, shown: Sequence[tuple[str, float, Sequence[npt.ArrayLike]]]
) -> list[AxesImage]:
    """Draw matrices side by side, with a column for each domain that is learned and a
    row for each past domain.

    :param fig: an empty figure.
    :param shown: for each matrix its title, the value of the brightest colour, and for
        each domain t = 2, ..., T the values of the past domains.
    """
    panels = fig.subplots(1, len(shown), sharey=True)
    images = []
    for panel, (title, highest, columns) in zip(panels, shown, strict=True):
        size = len(columns)
        values = np.full((size, size), np.nan)
        for t, column in enumerate(columns):
            values[: t + 1, t] = np.asarray(column, dtype=np.float64)
        images.append(show_matrix(panel, values, highest=highest, first_column=2))
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel("domain $t$ being learned")
        panel.set_xticks(domain_ticks(2, size + 1, most=10))
    panels[0].set_ylabel("past domain $i$")
    panels[0].set_yticks(domain_ticks(1, size, most=10))
    return images


def show_matrix(
    ax: Axes,
    values: npt.NDArray[np.float64],
    highest: float = 100,
    first_column: int = 1,
) -> AxesImage:
    """Draw a matrix in colours whose rows and columns are domains.

    :param ax: where to draw it.
    :param values: the matrix; NaN cells stay blank.
    :param highest: the value of the brightest colour; the darkest is 0.
    :param first_column: number of the first column's domain; the first row's is 1.
    """
    rows, columns = values.shape
    left = first_column - 0.5
    extent = (left, left + columns, rows + 0.5, 0.5)
    return ax.imshow(values, cmap=_COLORMAP, vmin=0, vmax=highest, extent=extent)


def between_tests(R: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """An accuracy matrix to look at, if most rows were tested on few domains: each such
    row shows the accuracies of the next test of all domains. Single rows among hundreds
    of blank ones could not be seen.

    :param R: accuracy matrix; it is returned as it is if at least half of its rows are
        complete up to the diagonal.
    """
    complete = [not np.isnan(row[: r + 1]).any() for r, row in enumerate(R)]
    if 2 * sum(complete) >= len(R):
        return R
    filled = R.copy()
    for r in range(len(R) - 2, -1, -1):
        # A row without any accuracy is that of a domain after which nobody tested.
        if not complete[r] and not np.isnan(R[r]).all():
            learned = filled[r, : r + 1]
            filled[r, : r + 1] = np.where(
                np.isnan(learned), filled[r + 1, : r + 1], learned
            )
    return filled


def figure_to_image(fig: Figure) -> Image.Image:
    """Draw a figure in memory.

    :param fig: the figure.
    :return: the picture, in RGB.
    """
    canvas: Any = FigureCanvasAgg(fig)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def save_figure(fig: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, completely or not at all.

    :param fig: the figure.
    :param path: the file; its suffix names the format, its folder is made if missing.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        fig.savefig(unfinished, format=path.suffix[1:], dpi=_DPI)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, laid out so that labels do not overlap.

    :param width: in inches.
    :param height: in inches.
    """
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08, compress=True)
    return Figure(figsize=(width, height), layout=layout)


def _line_colors(count: int) -> ListedColormap:
    # Without the bright end of the colormap: yellow is hard to see on white.
    colors = matplotlib.colormaps[_COLORMAP](np.linspace(0, 0.92, count))
    return ListedColormap(colors)


def _measured(values: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    return np.flatnonzero(~np.isnan(values))


def domain_ticks(first: int, last: int, most: int = _MOST_TICKS) -> range:
    """The domains to label on an axis.

    :param first: the first domain.
    :param last: the last domain.
    :param most: how many labels there is room for.
    """
    step = -(-(last - first + 1) // most)
    return range(first, last + 1, step)


def _annotate(ax: Axes, values: npt.NDArray[np.float64], decimals: int) -> None:
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            color = "black" if value > 60 else "white"
            text = f"{value:.{decimals}f}"
            ax.text(column + 1, row + 1, text, color=color, **centred)


def _add_domain_colorbar(fig: Figure, ax: Axes, domains: int) -> None:
    norm = BoundaryNorm(np.arange(0.5, domains + 1), domains)
    mappable = ScalarMappable(norm, _line_colors(domains))
    bar = fig.colorbar(mappable, ax=ax, label="tested on domain", pad=0.02)
    bar.set_ticks(domain_ticks(1, domains))
    bar.minorticks_off()

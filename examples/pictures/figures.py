"""Figures that show two methods beside each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from PIL import Image

from udil_avalanche.evaluation.plots import (
    domain_ticks,
    figure_to_image,
    new_figure,
    plot_coefficients,
    show_matrix,
)
from udil_avalanche.report.collect import collect
from udil_avalanche.report.run import Run
from udil_avalanche.report.tables import Row, tables_of

COLOURS = 255
MOST_NUMBERED = 10


def first_runs(root: Path, benchmark: str, names: Sequence[str]) -> dict[str, Run]:
    """The run of the first seed of each method.

    :param root: folder with run folders.
    :param benchmark: the benchmark.
    :param names: the methods, as the tables of a report call them.
    """
    rows: dict[str, Row] = {
        row.name: row
        for table in tables_of(collect([root]).runs)
        if table.benchmark == benchmark
        for row in table.measured
        if row.name in names
    }
    return {name: rows[name].group.first for name in names}


def matrices(runs: Mapping[str, Run], domain: str) -> Image.Image:
    """The accuracy matrices of runs.

    :param runs: the runs by name.
    :param domain: what a domain is called.
    """
    fig = new_figure(4.2 * len(runs) + 0.8, 4)
    panels = fig.subplots(1, len(runs), sharey=True)
    for ax, (name, run) in zip(panels, runs.items(), strict=True):
        matrix = np.array(run.accuracy_matrix, dtype=np.float64)
        size = len(matrix)
        seen = np.where(np.tri(size, dtype=bool), matrix, np.nan)
        image = show_matrix(ax, seen)
        average = matrix[-1].mean()
        ax.set_title(f"{name}: {average:.1f} % on average at the end")
        ax.set_xlabel(f"tested on {domain}")
        ax.set_xticks(domain_ticks(1, size, most=10))
        ax.set_yticks(domain_ticks(1, size, most=10))
        if size <= MOST_NUMBERED:
            _number(ax, seen)
    panels[0].set_ylabel(f"after learning {domain}")
    fig.colorbar(image, ax=list(panels), label="accuracy (%)", pad=0.02)
    return figure_to_image(fig)


def embeddings(runs: Mapping[str, Run], domain: str) -> Image.Image:
    """The embeddings of test samples at the end of runs, by class and by domain.

    :param runs: the runs by name.
    :param domain: what a domain is called.
    """
    fig = new_figure(3.4 * len(runs) + 0.8, 6.2)
    panels = fig.subplots(2, len(runs), squeeze=False)
    shown = (("label", "class", "tab10"), ("domain", domain, "viridis"))
    for line, (key, meaning, colours) in zip(panels, shown, strict=True):
        for ax, (name, run) in zip(line, runs.items(), strict=True):
            points: dict[str, Any] = run.embeddings or {}
            dots = ax.scatter(
                points["x"], points["y"], c=points[key], s=5, cmap=colours, linewidths=0
            )
            ax.set(title=f"{name}, by {meaning}", xticks=[], yticks=[])
        bar = fig.colorbar(dots, ax=list(line), label=meaning, pad=0.02)
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    return figure_to_image(fig)


def coefficients(run: Run) -> Image.Image:
    """alpha, beta and gamma over the domains of a run.

    :param run: a run of UDIL.
    """
    return figure_to_image(plot_coefficients(run.coefficients))


def contact_sheet(root: Path, scale: int = 2) -> Image.Image:
    """The first image of every class of every domain, a domain in each line.

    :param root: ``root/<domain>/<class>/<image>``.
    :param scale: how much larger than they are.
    """
    lines = [
        [Image.open(min(kind.iterdir())) for kind in sorted(domain.iterdir())]
        for domain in sorted(root.iterdir())
    ]
    side = 28 * scale
    sheet = Image.new("RGB", (side * len(lines[0]), side * len(lines)), "white")
    for down, line in enumerate(lines):
        for right, image in enumerate(line):
            larger = image.resize((side - 4, side - 4), Image.Resampling.NEAREST)
            sheet.paste(larger, (right * side + 2, down * side + 2))
    return sheet


def save(image: Image.Image, file: Path) -> None:
    """Write a picture with few colours: a third of the size, and no visible difference.

    :param image: the picture.
    :param file: the PNG file.
    """
    few = image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    few.save(file, optimize=True)
    print(f"{file}: {file.stat().st_size // 1000} KB", flush=True)


def _number(ax: Axes, values: np.ndarray[Any, Any]) -> None:
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = "black" if value > 60 else "white"
            where: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
            ax.text(column + 1, row + 1, f"{value:.0f}", **where)

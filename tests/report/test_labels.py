"""Names next to points."""

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from udil_avalanche.report.labels import label_points


def extents(fig: Figure) -> list[Bbox]:
    renderer = FigureCanvasAgg(fig).get_renderer()
    fig.draw_without_rendering()
    return [
        text.get_window_extent(renderer)
        for text in fig.axes[0].texts
        if isinstance(text, Annotation)
    ]


def test_names_of_close_points_cover_neither_each_other_nor_a_point() -> None:
    fig = Figure(figsize=(5.5, 4.2), layout="constrained")
    ax = fig.subplots()
    names = ["Fine-tune", "oEWC", "SI", "UDIL"]
    points = [(1.0, 48.0), (1.05, 48.2), (1.02, 47.6), (2.0, 90.0)]
    ax.scatter(*np.transpose(points))
    ax.set(xscale="log", ylim=(40, 100), xlim=(0.5, 5))
    label_points(ax, dict(zip(names, points, strict=True)))
    found = extents(fig)
    assert [text.get_text() for text in ax.texts] == names
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    for x, y in ax.transData.transform(points):
        assert not any(extent.contains(x, y) for extent in found)


def test_a_name_is_next_to_its_point_even_in_a_crowd() -> None:
    fig = Figure(figsize=(3, 3))
    ax = fig.subplots()
    points = {f"method {number}": (0.5, 0.5) for number in range(12)}
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_points(ax, points)
    x, y = ax.transData.transform((0.5, 0.5))
    for extent in extents(fig):
        assert abs((extent.y0 + extent.y1) / 2 - y) < 60
        assert min(abs(extent.x0 - x), abs(extent.x1 - x)) < 20

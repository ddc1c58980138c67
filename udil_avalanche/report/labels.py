"""Names beside points, so that none covers another."""

from collections.abc import Sequence
from typing import cast

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

_PLACES = [
    ((side * 7, height), {1: "left", -1: "right"}[side])
    for height in (3, -9, 13, -19, 23)
    for side in (1, -1)
]
"""Where a name may stand, in points from its own, the best place first."""

_POINT = 5
"""Half the side of the square that a point takes, in pixels."""


def label_points(
    ax: Axes, names: Sequence[str], points: Sequence[tuple[float, float]]
) -> None:
    """Write a name beside each point, at the first place where it covers neither a
    point nor another name; if there is none, at the first place of all.

    What else the figure shows must be there already: it decides where the points are.

    :param ax: the axes with the points.
    :param names: the names.
    :param points: the points, in the coordinates of the data.
    """
    fig = cast(Figure, ax.figure)
    fig.draw_without_rendering()
    renderer = FigureCanvasAgg(fig).get_renderer()
    taken = [
        Bbox.from_extents(x - _POINT, y - _POINT, x + _POINT, y + _POINT)
        for x, y in ax.transData.transform(points)
    ]
    for name, point in zip(names, points, strict=True):
        label = ax.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", fontsize="small"
        )
        for offset, alignment in [*_PLACES, _PLACES[0]]:
            label.set(position=offset, horizontalalignment=alignment)
            extent = label.get_window_extent(renderer)
            if not any(extent.overlaps(other) for other in taken):
                break
        taken.append(extent)


__all__ = ["label_points"]

"""Names next to points, placed so that none covers another."""

from collections.abc import Mapping
from typing import cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

_PLACES = [
    ((side * 7, height), {1: "left", -1: "right"}[side])
    for height in (3, -9, 13, -19, 23)
    for side in (1, -1)
]
"""Where a name may be, in points from its data point, the best place first."""

_RADIUS = 5
"""How far a point extends to each side, in pixels."""


def label_points(ax: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Write a name next to each point, at the first place where it covers neither a
    point nor another name; if there is no such place, at the first of all.

    Call it last: everything else in the figure decides where the points are.

    :param ax: the axes with the points.
    :param points: the points in data coordinates, by name.
    """
    fig = cast(Figure, ax.figure)
    fig.draw_without_rendering()
    taken = [
        Bbox.from_extents(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS)
        for x, y in ax.transData.transform(list(points.values()))
    ]
    for name, point in points.items():
        label = ax.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", fontsize="small"
        )
        for offset, alignment in [*_PLACES, _PLACES[0]]:
            label.set(position=offset, horizontalalignment=alignment)
            extent = label.get_window_extent()
            if not any(extent.overlaps(other) for other in taken):
                break
        taken.append(extent)

"""The picture of a ranking: a critical difference diagram."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from udil_avalanche.evaluation.data_addresses import svg_address
from udil_avalanche.report.ranks import Ranking

_STEP = 0.3
"""Inches between two names, or two bars."""


def rank_picture(ranking: Ranking) -> str:
    """Draw a ranking as Demšar does, the best on the left.

    :param ranking: what to draw.
    """
    means = list(ranking.means.items())
    half = (len(means) + 1) // 2
    bars = len(ranking.cliques)
    height = _STEP * (half + bars + 4)
    fig = Figure(figsize=(10, height), layout="constrained")
    ax = fig.subplots()
    ax.set(xlim=(-1.2, len(means) + 3.2), ylim=(-(half + bars + 1), 3))
    ax.set_axis_off()
    _axis(ax, len(means))
    _difference(ax, ranking.critical_difference, len(means))
    for place, clique in enumerate(ranking.cliques):
        ends = [ranking.means[clique[0]] - 0.05, ranking.means[clique[-1]] + 0.05]
        ax.plot(ends, [-0.5 - place] * 2, color="black", lw=4, solid_capstyle="butt")
    for place, (name, rank) in enumerate(means):
        is_left = place < half
        line = place if is_left else len(means) - 1 - place
        y = -(bars + 0.6 + line)
        x = 0.4 if is_left else len(means) + 0.6
        ax.plot([rank, rank, x], [0, y, y], color="#5b6875", lw=1)
        side = "right" if is_left else "left"
        shift = -0.1 if is_left else 0.1
        label = f"{name}  {rank:.1f}" if is_left else f"{rank:.1f}  {name}"
        ax.text(x + shift, y, label, ha=side, va="center")
    return svg_address(fig)


def _axis(ax: Axes, methods: int) -> None:
    ax.plot([1, methods], [0, 0], color="black", lw=1)
    for rank in range(1, methods + 1):
        ax.plot([rank, rank], [0, 0.25], color="black", lw=1)
        ax.text(rank, 0.4, str(rank), ha="center", va="bottom")


def _difference(ax: Axes, width: float, methods: int) -> None:
    shown = min(width, methods - 1)
    label = f"critical difference {width:.1f}"
    if shown < width:
        label += ", more than the axis is long"
    ax.plot([1, 1 + shown], [1.9, 1.9], color="black", lw=2, marker="|")
    ax.text(1, 2.1, label, ha="left", va="bottom")

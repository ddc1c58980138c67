"""The picture of a comparison."""

import numpy as np
from matplotlib.figure import Figure

from udil_avalanche.evaluation.data_addresses import svg_address
from udil_avalanche.report.comparison import Comparison

_FAR = 10
"""Points from which on the colour does not change: a method that fails altogether would
leave no difference visible between the others."""

_DARK = 0.6 * _FAR
"""Points from which on the colour is too dark for black digits."""


def comparison_picture(comparison: Comparison) -> str:
    """How far each row is from the best method with a memory on each stream, as colours
    and numbers. Where it was not measured, the cell stays empty.

    :param comparison: the rows and the streams.
    """
    rows, streams = comparison.rows, comparison.plan.streams
    gaps = [[comparison.gap(row, stream) for stream in streams] for row in rows]
    size = (1.15 * len(streams) + 3.6, 0.36 * len(rows) + 1.6)
    fig = Figure(figsize=size, layout="constrained")
    ax = fig.subplots()
    image = ax.imshow(
        np.array(gaps, dtype=np.float64),
        cmap="RdBu",
        vmin=-_FAR,
        vmax=_FAR,
        aspect="auto",
    )
    for y, line in enumerate(gaps):
        for x, gap in enumerate(line):
            if gap is not None:
                color = "white" if abs(gap) > _DARK else "black"
                ax.text(x, y, f"{gap:+.1f}", ha="center", va="center", color=color)
    ax.set_xticks(range(len(streams)), streams, rotation=20, ha="right")
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_title("Average accuracy minus that of the best method with a memory")
    fig.colorbar(image, ax=ax, label="points", extend="both", pad=0.02)
    return svg_address(fig)

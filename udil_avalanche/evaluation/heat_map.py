"""The accuracy matrix as a small picture, drawn in milliseconds.

The figures of :mod:`udil_avalanche.evaluation.plots` have axes and titles, but take
Matplotlib up to a second, which is too long to wait after every domain.
"""

import matplotlib
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

_WIDTH = 400
_SMALLEST_CELL = 8
_MOST_NUMBERED_DOMAINS = 20
_MOST_DRAWN_DOMAINS = 100


def heat_map(R: npt.ArrayLike) -> Image.Image:
    """The accuracy matrix in colours, with the numbers in it up to 20 domains, and with
    only some domains of more than 100.

    :param R: accuracies in percent, row = after this domain, column = tested on this
        domain; NaN cells stay white.
    :return: the picture, in RGB.
    """
    accuracies = np.asarray(R, dtype=np.float64)
    # Of a long stream only every second, third, ... domain.
    step = -(-max(accuracies.shape) // _MOST_DRAWN_DOMAINS)
    accuracies = accuracies[::step, ::step]
    rows, columns = accuracies.shape
    cell = max(_SMALLEST_CELL, -(-_WIDTH // columns))
    colours = matplotlib.colormaps["viridis"](accuracies / 100, bytes=True)[..., :3]
    colours = np.where(np.isnan(accuracies)[..., None], np.uint8(255), colours)
    picture = Image.fromarray(colours.repeat(cell, axis=0).repeat(cell, axis=1))
    if max(rows, columns) <= _MOST_NUMBERED_DOMAINS:
        draw = ImageDraw.Draw(picture)
        for (row, column), value in np.ndenumerate(accuracies):
            if not np.isnan(value):
                centre = (cell * (column + 0.5), cell * (row + 0.5))
                colour = "black" if value > 60 else "white"
                draw.text(centre, f"{value:.0f}", fill=colour, anchor="mm")
    return picture

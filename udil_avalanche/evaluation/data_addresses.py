"""Pictures as data addresses, which contain the whole picture."""

import base64
import io

import matplotlib
from matplotlib.figure import Figure

from udil_avalanche.evaluation.plots import figure_to_image

_COLORS_OF_A_PNG = 128


def svg_address(fig: Figure) -> str:
    """A figure as lines and texts.

    :param fig: the figure.
    """
    written = io.BytesIO()
    # Without a date and random names the same runs give the same page, byte for byte.
    with matplotlib.rc_context({"svg.hashsalt": "report", "svg.fonttype": "none"}):
        fig.savefig(written, format="svg", metadata={"Date": None})
    return _address("image/svg+xml", written)


def png_address(fig: Figure, dpi: int = 100) -> str:
    """A figure as pixels.

    :param fig: the figure.
    :param dpi: pixels in an inch.
    """
    written = io.BytesIO()
    fig.set_dpi(dpi)
    # Fewer colours make the file a third as large without a visible difference.
    figure_to_image(fig).quantize(_COLORS_OF_A_PNG).save(written, format="png")
    return _address("image/png", written)


def _address(media: str, written: io.BytesIO) -> str:
    return f"data:{media};base64,{base64.b64encode(written.getvalue()).decode()}"

"""A recording of the terminal as a picture."""

import io
import re
from collections.abc import Iterable

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from examples.pictures.retelling import WIDTH, Step

WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.S)
"""rich's own takes its font from another host; any font of the reader's will do."""


def recording(steps: Iterable[Step], title: str) -> str:
    """Commands and what they printed, as SVG.

    :param steps: the commands.
    :param title: what the window is called.
    """
    console = Console(record=True, width=WIDTH + 4, file=io.StringIO())
    for step in steps:
        console.print(Text("$ ", style="bold green") + Text(step.command, "bold"))
        console.print(Text(step.output))
    return console.export_svg(
        title=title, code_format=WITHOUT_FONTS, unique_id="terminal"
    )

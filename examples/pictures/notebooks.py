"""Runs a notebook from top to bottom."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

MOST_SECONDS = 170
"""For each cell: the whole takes less than three minutes."""


def executed(file: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with what its cells show.

    :param file: the notebook; it stays as it is.
    :param folder: where it runs.
    """
    notebook: nbformat.NotebookNode = nbformat.read(file, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=MOST_SECONDS,
        kernel_name="python3",
        # Times would make every notebook a different file.
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    for cell in notebook.cells:
        if "outputs" in cell:
            # Warnings name the folders of the machine.
            cell.outputs = [
                each for each in cell.outputs if each.get("name") != "stderr"
            ]
    return notebook

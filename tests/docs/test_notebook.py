"""The notebook runs from top to bottom, and what it shows is kept in it."""

from pathlib import Path

import nbformat
import pytest

from examples.pictures.notebooks import executed

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    return "".join(each.get("text", "") for each in outputs)


@pytest.mark.slow
def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = executed(NOTEBOOK, tmp_path)
    assert "version 3 learned turned" in printed(notebook)
    assert not list(tmp_path.iterdir()), "it leaves no files"


def test_its_output_is_kept() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    pictures = [
        each
        for cell in notebook.cells
        for each in cell.get("outputs", [])
        if "image/png" in each.get("data", {})
    ]
    assert len(pictures) == 2
    assert "version 3 learned turned" in printed(notebook)
    assert NOTEBOOK.stat().st_size < 200_000

"""``python -m examples.pictures``: make the pictures anew."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from PIL import Image

from examples.pictures import figures
from examples.pictures.browser import photograph
from examples.pictures.notebooks import executed
from examples.pictures.retelling import ROOT, Step, retell, run
from examples.pictures.terminal import recording

DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
DATA = ROOT.parent / "shared" / "data"
METHODS = ("Fine-tune", "UDIL")


def of_results(folder: Path) -> None:
    """Pictures of the runs in ``results``.

    :param folder: for files that are not kept.
    """
    runs = figures.first_runs(ROOT / "results", "rotated_mnist", METHODS)
    figures.save(figures.matrices(runs, "domain"), PICTURES / "forgetting.png")
    figures.save(figures.embeddings(runs, "domain"), PICTURES / "embeddings.png")
    figures.save(figures.coefficients(runs["UDIL"]), PICTURES / "coefficients.png")
    run(f"udil-run report {ROOT / 'results'} --html report.html", folder)
    _photograph(folder / "report.html", PICTURES / "report.png", 1200, 900)


def of_the_tutorial(folder: Path) -> None:
    """Run the commands of the tutorial, and make its pictures.

    :param folder: where to run them.
    """
    steps = retell(DOCS / "tutorial.md", folder)
    runs = figures.first_runs(folder / "runs", "folders", METHODS)
    sheet = figures.contact_sheet(folder / "cameras")
    figures.save(sheet, PICTURES / "cameras.png")
    matrices = figures.matrices(runs, "camera")
    figures.save(matrices, PICTURES / "cameras_forgetting.png")
    points = figures.embeddings(runs, "camera")
    figures.save(points, PICTURES / "cameras_embeddings.png")
    shown = [step for step in steps if _is_of_the_model(step)]
    terminal = recording(shown, "a camera is replaced")
    (PICTURES / "terminal.svg").write_text(terminal, encoding="utf-8")
    _photograph(folder / "history.html", PICTURES / "history.png", 1200, 1100)


def of_the_notebook(folder: Path) -> None:
    """Run the notebook, and keep what it shows.

    :param folder: where to run it.
    """
    notebook = executed(DOCS / "notebook.ipynb", folder)
    nbformat.write(notebook, DOCS / "notebook.ipynb")


def of_the_living_model(folder: Path) -> None:
    """Run the commands of the page on models that live on, which has no pictures.

    :param folder: where to run them.
    """
    # Features are kept beside the data: in a folder of its own, not in the real one.
    (folder / "data").mkdir()
    for each in DATA.iterdir():
        (folder / "data" / each.name).symlink_to(each, target_is_directory=True)
    retell(DOCS / "living_model.md", folder)


PARTS = {
    "results": of_results,
    "tutorial": of_the_tutorial,
    "notebook": of_the_notebook,
    "living_model": of_the_living_model,
}
NEED_DATA = ("living_model",)
"""Parts that need real data from beside the checkout, and are made only if named."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the pictures.

    :param arguments: the command line; that of the process by default.
    :return: the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m examples.pictures",
        description="Make the pictures of README and documents anew.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    for part in given.parts or (each for each in PARTS if each not in NEED_DATA):
        with tempfile.TemporaryDirectory(prefix="pictures_") as folder:
            try:
                PARTS[part](Path(folder))
            except (OSError, RuntimeError) as error:
                print(f"{parser.prog}: {error}", file=sys.stderr)
                return 1
    return 0


def _is_of_the_model(step: Step) -> bool:
    return step.command.startswith(("udil-run inspect", "udil-run update"))


def _photograph(page: Path, picture: Path, width: int, height: int) -> None:
    photograph(page, picture, width, height)
    figures.save(Image.open(picture), picture)


if __name__ == "__main__":
    sys.exit(main())

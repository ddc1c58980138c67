"""Where a model may be exported to. Does not load torch, so that a mistake is answered
at once."""

import importlib.util
from pathlib import Path

from udil_avalanche.errors import ModelError, SettingsError

SUFFIXES = (".onnx", ".pt2")

PACKAGES = ("onnx", "onnxruntime", "onnxscript")
"""What ``pip install 'udil_avalanche[onnx]'`` installs."""

CARD_TITLE = "# Model card: "
"""How every model card begins."""


def card_of(file: Path) -> Path:
    """The model card beside an exported file.

    :param file: the file.
    """
    return file.with_suffix(".md")


def check_target(file: Path) -> None:
    """Refuse a file that could not be written in the end.

    :param file: the file to export to.
    :raises SettingsError: if it has the wrong ending or no place, or if its card would
        overwrite another text.
    :raises ModelError: if a package is missing.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise SettingsError(f"{file}: expected a name that ends in .onnx or .pt2")
    if not file.absolute().parent.is_dir():
        raise SettingsError(f"{file}: there is no folder {file.parent}")
    card = card_of(file)
    if card.exists() and not card.read_text(errors="replace").startswith(CARD_TITLE):
        raise SettingsError(
            f"{card} is not a model card, which would be written there: choose another "
            f"name than {file}"
        )
    if file.suffix.lower() == ".onnx":
        missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
        if missing:
            raise ModelError(
                f"exporting to ONNX needs {' and '.join(missing)}: "
                "pip install 'udil_avalanche[onnx]', or export to a .pt2 file"
            )

"""Finding image files. Loads neither torch nor Avalanche."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from udil_avalanche.data.natural_order import natural, natural_key
from udil_avalanche.errors import BadData

SUFFIXES = (
    *(".bmp", ".gif", ".jpeg", ".jpg", ".pgm"),
    *(".png", ".ppm", ".tif", ".tiff", ".webp"),
)
"""Files with other endings are ignored."""


def image_files(folder: Path) -> list[str]:
    """List the images in a folder and its subfolders, in natural order.

    :param folder: where to look; hidden files are left out.
    """
    return sorted(files_below(folder, SUFFIXES), key=natural_key)


def files_below(folder: Path, suffixes: Collection[str]) -> Iterator[str]:
    """Find the files in a folder and its subfolders, folder by folder: only the names
    in one folder are in memory at a time.

    :param folder: where to look; hidden files are left out.
    :param suffixes: the endings to look for, in small letters.
    :raises BadData: if a subfolder is a link, whose files would be missing.
    :raises OSError: if a subfolder cannot be read.
    """
    for path, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = natural(name for name in folders if not name.startswith("."))
        for name in folders:
            if os.path.islink(os.path.join(path, name)):
                raise BadData(
                    f"{os.path.join(path, name)}: a link to a folder, which is not "
                    "followed there; put the files themselves there"
                )
        for name in natural(files):
            is_wanted = os.path.splitext(name)[1].lower() in suffixes
            if is_wanted and not name.startswith("."):
                yield os.path.join(path, name)


def _raise(error: OSError) -> None:
    raise error

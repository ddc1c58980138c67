"""Predictions in files, written as they are made. Does not load torch."""

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

import numpy as np
from numpy.lib import format as npy

from udil_avalanche.files import atomic_write

if TYPE_CHECKING:
    from torch import Tensor

Write = Callable[[Sequence[str], "Tensor"], None]
"""Writes the predictions for some inputs: their names, and the probability of every
class, one row for each input."""

SUFFIXES = (".csv", ".jsonl", ".npz")

DIGITS = ".6g"
"""How probabilities are written as text."""

_NEEDS_QUOTES = re.compile('[,"\r\n]')


@contextmanager
def predictions_file(
    path: Path, classes: Sequence[str], every_class: bool
) -> Iterator[Write]:
    """A file for predictions, which is there when all are made, or not at all.

    :param path: the file; its ending is one of :data:`SUFFIXES`.
    :param classes: the names of the classes.
    :param every_class: write the probability of every class, not only of the likeliest.
    """
    with atomic_write(path, flush=False) as unfinished:
        if path.suffix.lower() == ".npz":
            with npz_columns(unfinished, classes, every_class) as write:
                yield write
        else:
            with unfinished.open("w", encoding="utf-8", newline="") as file:
                lines = json_lines if path.suffix.lower() == ".jsonl" else csv_rows
                yield lines(file, classes, every_class)


def csv_rows(file: TextIO, classes: Sequence[str], every_class: bool) -> Write:
    """Write predictions as comma-separated values, with a header.

    :param file: where to.
    :param classes: the names of the classes.
    :param every_class: add a column for each class, ``p(name)``.
    """
    names_of_classes = _csv_fields(classes)
    columns = [f"p({name})" for name in classes] if every_class else []
    header = _csv_fields(["input", "class", "probability", *columns])
    file.write(",".join(header) + "\n")

    line = "%s,%s" + f",%{DIGITS}" * (1 + len(columns)) + "\n"

    def write(names: Sequence[str], probabilities: "Tensor") -> None:
        highest, chosen = probabilities.max(dim=1)
        rows = zip(
            _csv_fields(names),
            [names_of_classes[k] for k in chosen.tolist()],
            highest.tolist(),
            *(probabilities.T.tolist() if every_class else []),
            strict=True,
        )
        # A format for the whole batch is much faster than csv.writer, for which a field
        # can be anything, and than one line after the other.
        file.write(line * len(names) % tuple(chain.from_iterable(rows)))

    return write


def _csv_fields(texts: Sequence[str]) -> Sequence[str]:
    """Texts as fields of a CSV file: in quotes where a character asks for it."""
    if not _NEEDS_QUOTES.search("".join(texts)):
        return texts
    return [
        '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
        for text in texts
    ]


def json_lines(file: TextIO, classes: Sequence[str], every_class: bool) -> Write:
    """Write predictions as JSON, one object a line.

    :param file: where to.
    :param classes: the names of the classes.
    :param every_class: add ``probabilities``, by the names of the classes.
    """

    def write(names: Sequence[str], probabilities: "Tensor") -> None:
        highest, chosen = probabilities.max(dim=1)
        values = zip(
            names,
            chosen.tolist(),
            highest.tolist(),
            probabilities.tolist(),
            strict=True,
        )
        for name, k, p, all_p in values:
            line = {"input": name, "class": classes[k], "probability": _rounded(p)}
            if every_class:
                each = map(_rounded, all_p)
                line["probabilities"] = dict(zip(classes, each, strict=True))
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    return write


@contextmanager
def npz_columns(
    path: Path, classes: Sequence[str], every_class: bool
) -> Iterator[Write]:
    """Write predictions as arrays: ``input`` names them, ``class`` is a position in
    ``classes``, ``probability`` that of the class.

    How long and how wide the arrays are is known only at the end. Until then their
    content is in temporary files.

    :param path: the file.
    :param classes: the names of the classes.
    :param every_class: add ``probabilities``, one row for each input.
    """
    n = width = 0
    types = {"class": "<i8", "probability": "<f4"}
    if every_class:
        types["probabilities"] = "<f4"
    with ExitStack() as stack:
        scratch = {
            name: stack.enter_context(tempfile.TemporaryFile(dir=path.parent))
            for name in ("input", *types)
        }

        def write(names: Sequence[str], probabilities: "Tensor") -> None:
            nonlocal n, width
            highest, chosen = probabilities.max(dim=1)
            columns = {"class": chosen, "probability": highest}
            columns["probabilities"] = probabilities
            for name, kind in types.items():
                scratch[name].write(columns[name].numpy().astype(kind).tobytes())
            for name in names:
                scratch["input"].write(json.dumps(name).encode() + b"\n")
                width = max(width, len(name))
            n += len(names)

        yield write
        archive = stack.enter_context(zipfile.ZipFile(path, "w", allowZip64=True))
        with _array(archive, "classes", f"<U{_width(classes)}", (len(classes),)) as out:
            out.write(np.array(classes, f"<U{_width(classes)}").tobytes())
        for name, kind in types.items():
            shape = (n, len(classes)) if name == "probabilities" else (n,)
            with _array(archive, name, kind, shape) as out:
                scratch[name].seek(0)
                shutil.copyfileobj(scratch[name], out)
        kind = f"<U{max(width, 1)}"
        with _array(archive, "input", kind, (n,)) as out:
            scratch["input"].seek(0)
            for line in scratch["input"]:
                out.write(np.array([json.loads(line)], kind).tobytes())


@contextmanager
def _array(
    archive: zipfile.ZipFile, name: str, kind: str, shape: tuple[int, ...]
) -> Iterator[IO[bytes]]:
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
        npy.write_array_header_2_0(out, header)
        yield out


def _width(names: Sequence[str]) -> int:
    return max(map(len, names), default=1) or 1


def _rounded(p: float) -> float:
    return float(f"{p:{DIGITS}}")

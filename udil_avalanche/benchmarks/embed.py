"""Image folders as files of features."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.benchmarks.folders import image_domains
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.image_tree import LabelledFile
from udil_avalanche.data.natural_order import natural
from udil_avalanche.files import atomic_write


def embed(
    root: str | Path,
    output: str | Path,
    features: FrozenFeatures,
    *,
    order: str | None = None,
    domains: int = 0,
    skip_invalid: bool = False,
) -> list[Path]:
    """Write the features of image folders as
    :func:`~udil_avalanche.benchmarks.arrays` reads them: a file ``<domain>.npz`` for
    each domain, with ``x``, ``y`` and the ``class_names`` that the numbers in ``y``
    stand for; and with ``x_test`` and ``y_test`` if the images are split already.

    :param root: the images, as :func:`~udil_avalanche.benchmarks.folders` reads them.
    :param output: folder for the features.
    :param features: computes and keeps them.
    :param order: names of the domains, separated by commas; all of them if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param skip_invalid: leave out and count damaged images instead of refusing them.
    :return: the files.
    :raises BadData: if the folder has another layout or holds damaged images, or the
        output folder holds other domains.
    """
    root, output = Path(root), Path(output)
    findings = Findings(skip_invalid)
    listed = image_domains(root, findings, order=order, domains=domains)
    names = {domain.name for domain in listed}
    others = sorted({path.stem for path in output.glob("*.npz")} - names)
    if others:
        raise BadData(
            f"{output} holds other domains ({', '.join(others)}), which would be "
            "learned too: choose another folder"
        )
    pairs = [domain.files + (domain.test_files or []) for domain in listed]
    damaged = set()
    for file, fault in features.compute([f for part in pairs for _, f in part]):
        findings.add(fault)
        damaged.add(file)
    findings.settle()
    classes = natural({c for part in pairs for c, f in part if f not in damaged})
    output.mkdir(parents=True, exist_ok=True)
    written = []
    for domain in listed:
        parts = {"": domain.files}
        if domain.test_files is not None:
            parts["_test"] = domain.test_files
        content = {"class_names": np.array(classes)}
        for suffix, files in parts.items():
            usable = [(name, file) for name, file in files if file not in damaged]
            content[f"x{suffix}"] = features.rows([file for _, file in usable]).numpy()
            content[f"y{suffix}"] = _numbers(usable, classes)
        path = output / f"{domain.name}.npz"
        with atomic_write(path) as unfinished, unfinished.open("wb") as stream:
            np.savez(stream, **content)  # type: ignore[arg-type]
        written.append(path)
    return written


def _numbers(
    files: Sequence[LabelledFile], classes: Sequence[str]
) -> "np.typing.NDArray[np.int64]":
    number_of = {name: k for k, name in enumerate(classes)}
    return np.array([number_of[name] for name, _ in files], dtype=np.int64)

"""Your own arrays as domains."""

import zipfile
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.benchmarks.reading.assemble import DomainSamples, assemble
from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.names import chosen_domains
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario

Arrays = dict[str, NDArray[Any]]

KEYS = ("x", "y", "x_test", "y_test")
"""The arrays of a file that are read."""


def arrays(
    root: str | Path,
    *,
    order: str | None = None,
    domains: int = 0,
    test_share: float = 0.2,
    stratified: bool = False,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    skip_invalid: bool = False,
    seed: int = 0,
) -> DomainScenario:
    """Domains in files ``root/<domain>.npz``, as ``numpy.savez`` makes them.

    A file has ``x``, one sample per row, of any shape that all files share; ``y``, one
    integer per sample; and, if the data are split already, ``x_test`` and ``y_test``.
    The classes are the integers in all files together, in ascending order; a domain
    need not have them all. 8-bit inputs become numbers in [0, 1], all others 32-bit
    floats without scaling: that is the model's part, see
    :class:`~udil_avalanche.models.standardise.Standardise`.

    A file is read when its domain is needed and dropped for the next one.

    :param root: the folder.
    :param order: names of the domains to learn, separated by commas; all of them in
        natural order if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param test_share: share of each domain to test on, if it is not split already.
    :param stratified: take that share of every class.
    :param train_per_domain: training samples of each domain; all if ``None``.
    :param validation: share of the training samples to hold out and test on instead of
        the test samples.
    :param skip_invalid: leave out and count invalid samples instead of refusing them.
    :param seed: seed of all draws.
    :raises BadData: if a file has another layout or holds invalid samples.
    """
    root = Path(root)
    if not root.is_dir():
        raise BadData(
            f"there is no folder {root}: save each domain by "
            f"numpy.savez('{root}/<domain>.npz', x=..., y=...) and give it by --data"
        )
    files = array_files(root)
    if not files:
        raise BadData(
            f"{root} has no .npz files: save each domain by "
            f"numpy.savez('{root}/<domain>.npz', x=..., y=...) and give it by --data"
        )
    findings = Findings(skip_invalid)
    names = chosen_domains(list(files), order, domains, root)
    return assemble(
        array_samples([files[name] for name in names], findings),
        sort_classes=sorted,
        splitter=Splitter(test_share, stratified, train_per_domain, validation, seed),
        findings=findings,
        data=f"arrays:{root.resolve().name}",
    )


def array_files(folder: Path) -> dict[str, Path]:
    """The ``.npz`` files in a folder, by the names of their domains. The ending may be
    in capitals.

    :param folder: where to look; hidden files are left out.
    :raises BadData: if two have the same name.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("[!.]*")):
        if path.suffix.lower() == ".npz":
            if path.stem in found:
                raise BadData(
                    f"{found[path.stem]} and {path} are the same domain: rename or "
                    "remove one"
                )
            found[path.stem] = path
    return found


def array_samples(paths: Sequence[Path], findings: Findings) -> list[DomainSamples]:
    """The samples in files of arrays, one domain each.

    :param paths: the files, see :func:`arrays`.
    :param findings: where to note invalid samples.
    :raises BadData: if a file has another layout.
    """
    samples = []
    kinds = []
    for path in paths:
        stored = load_arrays(path)
        samples.append(_examine(path.stem, path, stored, findings))
        kinds.append(_kind(stored["x"]))
        if kinds[-1] != kinds[0]:
            raise BadData(
                f"{path}: inputs have {kinds[-1]}, but those of {paths[0]} have "
                f"{kinds[0]}"
            )
    return samples


def load_arrays(path: Path) -> Arrays:
    """The arrays in a ``.npz`` file, by name.

    :param path: the file.
    :raises BadData: if it is no such file, or not complete.
    """
    # Opening a pipe would wait for somebody to write to it.
    if not path.is_file():
        raise BadData(f"{path}: not a regular file")
    try:
        stored = np.load(path, allow_pickle=False)
        if not isinstance(stored, np.lib.npyio.NpzFile):
            raise BadData(
                f"{path}: a single array as numpy.save writes it; save x and y "
                "together by numpy.savez"
            )
        with stored:
            content = {key: stored[key] for key in stored.files}
        for key, value in content.items():
            if key in KEYS and not isinstance(value, np.ndarray):
                raise ValueError(f"{key} is not an array")
        return content
    except BadData:
        raise
    except (
        *(OSError, ValueError, EOFError, MemoryError, NotImplementedError),
        *(RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error),
    ) as error:
        raise BadData(
            f"{path}: not a complete .npz file of numbers ({error})"
        ) from error


def _examine(
    name: str, path: Path, stored: Arrays, findings: Findings
) -> DomainSamples:
    for key in ("x", "y"):
        if key not in stored:
            raise BadData(
                f"{path}: has no array {key}, only {', '.join(stored) or 'nothing'}"
            )
    if ("x_test" in stored) != ("y_test" in stored):
        raise BadData(f"{path}: has one of x_test and y_test without the other")
    labels, usable = [], []
    for x_key, y_key in (("x", "y"), ("x_test", "y_test")):
        if x_key not in stored:
            continue
        x, y = stored[x_key], stored[y_key]
        if x.dtype.kind not in "biuf":
            raise BadData(f"{path}: {x_key} holds {x.dtype}, not real numbers")
        if y.dtype.kind not in "iu":
            raise BadData(
                f"{path}: {y_key} holds {y.dtype}, not integers: number the classes"
            )
        if y.size and y.max() > np.iinfo(np.int64).max:
            raise BadData(
                f"{path}: {y_key} holds {y.max()}, but labels are at most 2^63 - 1"
            )
        if x.ndim < 2 or y.shape != x.shape[:1]:
            raise BadData(
                f"{path}: {x_key} has shape {x.shape} and {y_key} {y.shape}, instead "
                "of one row and one label for each sample"
            )
        if x.size == 0:
            raise BadData(
                f"{path}: {x_key} has shape {x.shape}: it holds no "
                f"{'numbers' if len(x) else 'samples'}"
            )
        if x.shape[1:] != stored["x"].shape[1:] or x.dtype != stored["x"].dtype:
            raise BadData(
                f"{path}: x_test is {x.dtype} of shape {x.shape}, but x is "
                f"{stored['x'].dtype} of shape {stored['x'].shape}"
            )
        # Larger numbers than 32 bits can hold become infinite.
        with np.errstate(over="ignore"):
            as_used = x.reshape(len(x), -1).astype(np.float32, copy=False)
        finite = np.isfinite(as_used).all(axis=1)
        for row in np.flatnonzero(~finite):
            findings.add(
                f"{path}: {x_key}[{row}] holds a number that is not finite as a 32-bit "
                "float"
            )
        labels.append(y.astype(np.int64))
        usable.append(finite)
    return DomainSamples(
        name=name,
        classes=np.concatenate(labels),
        usable=np.concatenate(usable),
        n_test=len(stored.get("y_test", ())) or None,
        take=partial(_take, path),
    )


def _kind(x: NDArray[Any]) -> str:
    scaled = " and 8 bits (scaled to [0, 1])" if x.dtype == np.uint8 else ""
    return f"shape {x.shape[1:]}{scaled}"


def _take(path: Path, rows: Tensor, labels: Tensor, slot: LastUsed) -> DomainTensors:
    inputs = partial(_inputs, path, rows)
    return DomainTensors(inputs, labels, slot, content=_checksums(path))


def _checksums(path: Path) -> str:
    """The checksums that the archive has of its arrays."""
    with zipfile.ZipFile(path) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
        return " ".join(f"{each.filename} {each.CRC:08x}" for each in members)


def _inputs(path: Path, rows: Tensor) -> Tensor:
    stored = load_arrays(path)
    x = stored["x"]
    if "x_test" in stored:
        x = np.concatenate([x, stored["x_test"]])
    chosen = np.ascontiguousarray(x[rows.numpy()])
    if chosen.dtype == np.uint8:
        return torch.from_numpy(chosen)
    # 32-bit floats, unless whoever calls has set torch to another type.
    return torch.from_numpy(chosen.astype(np.float32)).to(torch.get_default_dtype())

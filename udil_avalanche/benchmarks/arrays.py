"""Arrays of one's own as domains."""

import zipfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.names import chosen_domains
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario

Array = NDArray[Any]


def arrays(
    root: str | Path,
    *,
    order: str | None = None,
    domains: int = 0,
    test_share: float = 0.2,
    stratified: bool = False,
    train_per_domain: int | None = None,
    validation: float = 0.0,
    skip_bad: bool = False,
    seed: int = 0,
) -> DomainScenario:
    """Domains that lie in files ``root/<domain>.npz``, as ``numpy.savez`` makes them.

    A file has ``x``, one sample a row, of any shape that all files share, and ``y``, an
    integer for each; and, if the data are split already, ``x_test`` and ``y_test``. The
    classes are the integers in all files together, in ascending order; a domain need
    not have them all. Inputs of 8 bit become numbers in [0, 1], all others 32-bit
    floats as they are.

    A file is read when its turn comes and dropped for the next one.

    :param root: the folder.
    :param order: names of the domains to learn, separated by commas; all of them in
        natural order if ``None``.
    :param domains: how many of them, from the first on; 0 for all.
    :param test_share: share of each domain to test on, if it is not split already.
    :param stratified: take that share of every class.
    :param train_per_domain: training samples of each domain; all if ``None``.
    :param validation: share of the training samples that is held out and tested on
        instead of the test samples.
    :param skip_bad: leave out and count what is bad instead of refusing it.
    :param seed: of all draws.
    :raises BadData: if a file is not like this, or has faults.
    """
    root = Path(root)
    found = [path.stem for path in root.glob("*.npz") if not path.name.startswith(".")]
    if not found:
        raise BadData(
            f"{root} has no .npz files: save each domain by "
            f"numpy.savez('{root}/<domain>.npz', x=..., y=...) and give it by --data"
        )
    names = chosen_domains(found, order, domains, root)
    findings = Findings(skip_bad)
    looked_at = [_look_at(root / f"{name}.npz", findings) for name in names]
    _refuse_other_shapes(looked_at)
    for each in looked_at:
        _refuse_unknown_test_classes(each, findings)
    skipped = findings.settle()
    classes = np.unique(np.concatenate([each.y[each.good] for each in looked_at]))
    if len(classes) < 2:
        raise BadData(f"there is nothing to tell apart: the only class is {classes}")

    splitter = Splitter(test_share, stratified, train_per_domain, validation, seed)
    slot = LastUsed()
    train: list[DomainTensors] = []
    test: list[DomainTensors] = []
    for name, each in zip(names, looked_at, strict=True):
        rows = torch.from_numpy(np.flatnonzero(each.good))
        labels = torch.from_numpy(np.searchsorted(classes, each.y[each.good]))
        is_test = None if each.n_test == 0 else rows >= len(each.y) - each.n_test
        split = splitter.split(name, labels, is_test)
        for chosen, streams, place in (
            (split.train, train, slot),
            (split.test, test, LastUsed()),
        ):
            make = partial(_inputs, each.path, rows[chosen])
            streams.append(DomainTensors(make, labels[chosen], place))
    return DomainScenario(
        train=train,
        test=test,
        n_classes=len(classes),
        data=f"arrays:{root.resolve().name}",
        details={
            "domain_names": names,
            "class_names": [str(label) for label in classes],
            "skipped": skipped,
        },
    )


class _LookedAt(NamedTuple):
    """What is known of a file after it was looked through once."""

    path: Path
    y: Array
    """All labels, those to test on last."""
    good: NDArray[np.bool_]
    """Which samples can be used."""
    n_test: int
    """How many samples are for testing, if that is given."""
    shape: tuple[int, ...]
    """Shape of one input."""
    eight_bit: bool


def _look_at(path: Path, findings: Findings) -> _LookedAt:
    stored = _load(path)
    for key in ("x", "y"):
        if key not in stored:
            raise BadData(
                f"{path}: has no array {key}, only {', '.join(stored) or 'nothing'}"
            )
    if ("x_test" in stored) != ("y_test" in stored):
        raise BadData(f"{path}: has one of x_test and y_test without the other")
    parts = [("x", "y")] + [("x_test", "y_test")] * ("x_test" in stored)
    labels, good = [], []
    for x_key, y_key in parts:
        x, y = stored[x_key], stored[y_key]
        if not (np.issubdtype(x.dtype, np.number) or x.dtype == np.bool_):
            raise BadData(f"{path}: {x_key} holds {x.dtype}, not numbers")
        if np.issubdtype(x.dtype, np.complexfloating):
            raise BadData(f"{path}: {x_key} holds complex numbers")
        if not np.issubdtype(y.dtype, np.integer):
            raise BadData(
                f"{path}: {y_key} holds {y.dtype}, not integers: number the classes"
            )
        if x.ndim < 2 or y.shape != x.shape[:1]:
            raise BadData(
                f"{path}: {x_key} has shape {x.shape} and {y_key} {y.shape}, instead "
                "of one row and one label for each sample"
            )
        if x.shape[1:] != stored["x"].shape[1:] or x.dtype != stored["x"].dtype:
            raise BadData(
                f"{path}: x_test is {x.dtype} of shape {x.shape}, but x is "
                f"{stored['x'].dtype} of shape {stored['x'].shape}"
            )
        finite = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
        for row in np.flatnonzero(~finite):
            findings.add(f"{path}: {x_key}[{row}] holds a number that is not finite")
        labels.append(y.astype(np.int64))
        good.append(finite)
    return _LookedAt(
        path,
        np.concatenate(labels),
        np.concatenate(good),
        len(labels[1]) if len(parts) == 2 else 0,
        stored["x"].shape[1:],
        stored["x"].dtype == np.uint8,
    )


def _refuse_other_shapes(looked_at: list[_LookedAt]) -> None:
    first = looked_at[0]
    for each in looked_at[1:]:
        if each.shape != first.shape:
            raise BadData(
                f"{each.path}: inputs have shape {each.shape}, but those of "
                f"{first.path} have {first.shape}"
            )
        if each.eight_bit != first.eight_bit:
            raise BadData(
                f"{each.path} and {first.path}: only one of them has 8-bit inputs, "
                "which become numbers in [0, 1]"
            )


def _refuse_unknown_test_classes(each: _LookedAt, findings: Findings) -> None:
    n_train = len(each.y) - each.n_test
    known = np.unique(each.y[:n_train][each.good[:n_train]])
    unknown = ~np.isin(each.y, known)
    unknown[:n_train] = False
    for label in np.unique(each.y[unknown & each.good]):
        n = int((each.y[unknown & each.good] == label).sum())
        findings.add(
            f"{each.path}: y_test has the class {label}, which y lacks ({n} samples)"
        )
    each.good[unknown] = False


def _load(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadData(f"{path}: not a whole .npz file of numbers ({error})") from error


def _inputs(path: Path, rows: Tensor) -> Tensor:
    stored = _load(path)
    x = stored["x"]
    if "x_test" in stored:
        x = np.concatenate([x, stored["x_test"]])
    chosen = np.ascontiguousarray(x[rows.numpy()])
    if chosen.dtype != np.uint8:
        chosen = chosen.astype(np.float32)
    return torch.from_numpy(chosen)


__all__ = ["arrays"]

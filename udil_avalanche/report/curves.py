"""How a cell went on from domain to domain."""

import json
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from udil_avalanche.evaluation import (
    average_accuracy,
    average_of_average_accuracy,
    forgetting,
)
from udil_avalanche.report.collect import Run
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.statistic import Statistic


def accuracy_matrix(run: Run) -> npt.NDArray[np.float64]:
    """The accuracy matrix, NaN where nothing was measured.

    :param run: a run.
    """
    return np.asarray(run.result["accuracy_matrix"], dtype=np.float64)


def mean_matrix(cell: SeedGroup) -> npt.NDArray[np.float64]:
    """The accuracy matrix, on average over the seeds.

    :param cell: its runs.
    """
    return np.mean([accuracy_matrix(run) for run in cell.runs], axis=0)


def accuracy_curves(cell: SeedGroup) -> npt.NDArray[np.float64]:
    """The average accuracy after each domain, a row for each seed.

    :param cell: its runs.
    """
    return _curves(cell, average_accuracy)


def forgetting_curves(cell: SeedGroup) -> npt.NDArray[np.float64]:
    """The forgetting after each domain, a row for each seed.

    :param cell: its runs.
    """
    return _curves(cell, forgetting)


def course_figure(cell: SeedGroup, metric: str) -> Statistic | None:
    """A metric of the paper's larger tables; None if it was not measured.

    :param cell: the runs.
    :param metric: ``avg_acc_1_5``, the average accuracy on average over domains 1 to 5,
        or an entry of ``result.json``.
    """
    stretch = re.fullmatch(r"avg_acc_(\d+)_(\d+)", metric)
    if stretch is None:
        return cell.figure(metric)
    first, last = map(int, stretch.groups())
    values = []
    for run in cell.runs:
        R = accuracy_matrix(run)
        if last > len(R):
            return None
        value = average_of_average_accuracy(R, first, last)
        values.append(None if np.isnan(value) else value)
    return Statistic.of(values)


def coefficients(run: Run) -> list[npt.NDArray[np.float64]]:
    """Alpha, beta and gamma of the past domains at the end of each domain from the
    second on; none if the method has no such coefficients.

    :param run: a run.
    """
    file = run.folder / "metrics.jsonl"
    if not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        np.array([line["alpha"], line["beta"], line["gamma"]]).T
        for line in lines
        if "alpha" in line
    ]


def _curves(
    cell: SeedGroup, formula: Callable[[npt.ArrayLike, int], float]
) -> npt.NDArray[np.float64]:
    matrices = [accuracy_matrix(run) for run in cell.runs]
    return np.array(
        [[formula(R, t) for t in range(1, len(R) + 1)] for R in matrices],
        dtype=np.float64,
    )


__all__ = [
    "accuracy_curves",
    "accuracy_matrix",
    "coefficients",
    "course_figure",
    "forgetting_curves",
    "mean_matrix",
]

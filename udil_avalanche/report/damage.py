"""Runs that cannot be reported because their files hold something else."""

from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import BENCHMARKS, METHODS
from udil_avalanche.report.origin import origins
from udil_avalanche.report.run import Run
from udil_avalanche.runs.result import result_problem

MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading entries of another kind may raise."""


def problem_of(run: Run) -> str | None:
    """Why a run cannot be reported, in words. Whatever a report reads is tried here, so
    that one damaged run does not spoil the report of the others.

    :param run: a finished run.
    :return: ``None`` if it can.
    """
    problem = result_problem(run.result)
    if problem is not None:
        return f"result.json: {problem}"
    for name, known in ((run.method, METHODS), (run.benchmark, BENCHMARKS)):
        if name not in known:
            return None  # Not installed, which is said elsewhere.
    try:
        origins([run])
        for omega in run.coefficients:
            if omega.ndim != 2 or omega.shape[1] != 3 or omega.dtype.kind != "f":
                return "metrics.jsonl: the coefficients are not numbers"
        if not _can_be_drawn(run.embeddings):
            return "embeddings.json: not the embeddings of a run"
        _ = run.all_settings.strategy
    except SettingsError as error:
        return f"result.json: {error}"
    except MISFITS as error:
        reason = " ".join(str(error).split())
        return f"its files are not those of a run ({type(error).__name__}: {reason})"
    return None


def _can_be_drawn(embeddings: dict[str, Any] | None) -> bool:
    if embeddings is None:
        return True
    points = [embeddings[name] for name in ("x", "y", "label", "domain")]
    numbers = [float(value) for values in points for value in values]
    return len(numbers) == 4 * len(points[0]) and len(embeddings["explained"]) == 2

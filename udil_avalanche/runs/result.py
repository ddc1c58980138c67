"""The result of a run: the entries of ``result.json``."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypedDict


class RunResult(TypedDict):
    """What a finished run has measured, and how. Accuracies are in percent; ``None``
    means not measured.
    """

    benchmark: str
    """What was learned."""
    strategy: str
    """How it was learned."""
    memory: int
    """Samples of past domains that the method may keep."""
    joint: bool
    """Whether all domains were learned at once, as an upper bound."""
    seed: int
    """Of all random generators."""
    data: str
    """The data: the benchmark's own, or the name of what replaced them."""
    avg_acc: float | None
    """Average accuracy over all domains after the last one."""
    avg_of_avg_acc: float | None
    """Average over the domains of the average accuracy after each of them."""
    forgetting: float | None
    """Average drop of a domain's accuracy from its best, after the last domain."""
    forward_transfer: float | None
    """Average gain over an untrained model on a domain just before it is learned."""
    seconds: float
    """Time of training, evaluation and saving, over all parts of the run."""
    seconds_saving: float
    """The part of it that went into saving states."""
    steps: int
    """Training iterations."""
    peak_memory_mb: NotRequired[float | None]
    """The most memory that the process had, in MiB; early runs do not have it."""
    accuracy_matrix: list[list[float | None]]
    """A row for each domain learned, with the accuracy on each domain."""
    random_accuracy: list[float | None]
    """The accuracy on each domain before any training."""
    settings: dict[str, Any]
    """All settings by name."""
    versions: dict[str, Any]
    """The software and the machine, see
    :func:`~udil_avalanche.runs.versions.versions`."""
    not_learned: NotRequired[list[str]]
    """What was said of each domain that was not learned, see
    :class:`~udil_avalanche.plugins.training.dead_training.DeadTrainingPlugin`."""
    domain_names: NotRequired[list[str]]
    """The names of the domains of the user's own data."""
    class_names: NotRequired[list[str]]
    """The names of their classes."""
    skipped: NotRequired[int]
    """How many of their samples could not be read and were skipped."""


ROUNDING = 1e-6
"""How far a figure may be from what its accuracies give."""


def result_problem(stored: Mapping[str, Any]) -> str | None:
    """What shows that something is not the result of a run, in words: an entry that is
    missing or of the wrong kind, or a figure that does not follow from the accuracies.

    :param stored: the content of a ``result.json``.
    :return: ``None`` if nothing does.
    """
    # The command line reads this module, and must not wait for NumPy.
    import numpy as np

    from udil_avalanche.evaluation import formulas

    for names, is_right, kind in _KINDS:
        for name in names:
            if name not in stored and name not in _OPTIONAL:
                return f"it has no {name}"
            if name in stored and not is_right(stored[name]):
                return f"{name} is not {kind}"
    for name in ("strategy", "benchmark", "memory", "seed"):
        if stored["settings"].get(name) != stored[name]:
            return f"{name} is not that of its settings"
    R = np.array(stored["accuracy_matrix"], dtype=np.float64)
    t = len(R)
    figures = {
        "avg_acc": formulas.average_accuracy(R, t),
        "forgetting": formulas.forgetting(R, t),
    }
    # Early runs have only some of these.
    if stored.get("avg_of_avg_acc") is not None:
        figures["avg_of_avg_acc"] = formulas.average_of_average_accuracy(R, 1, t)
    if stored["forward_transfer"] is not None:
        initial = np.array(stored.get("random_accuracy", []), dtype=np.float64)
        if len(initial) != t:
            return "random_accuracy is not of as many domains as there are"
        figures["forward_transfer"] = formulas.forward_transfer(R, initial, t)
    for name, expected in figures.items():
        value = math.nan if stored[name] is None else float(stored[name])
        agree = abs(value - expected) <= ROUNDING
        if not agree and not (math.isnan(value) and math.isnan(expected)):
            return f"{name} does not follow from the accuracies"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_percentage(value: Any) -> bool:
    return value is None or (_is_number(value) and value <= 100)


def _is_change(value: Any) -> bool:
    """Of a percentage."""
    return value is None or (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -100 <= value <= 100
    )


def _is_square_matrix(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(row, list) and len(row) == len(value) for row in value)
        and all(_is_percentage(accuracy) for row in value for accuracy in row)
    )


_OPTIONAL = (
    *("peak_memory_mb", "seconds_saving", "joint", "random_accuracy"),
    *("domain_names", "class_names", "not_learned", "avg_of_avg_acc", "skipped"),
)
"""What early runs do not have, or only some runs."""

_KINDS: list[tuple[tuple[str, ...], Callable[[Any], bool], str]] = [
    (("benchmark", "strategy", "data"), lambda v: isinstance(v, str), "a text"),
    (("memory", "seed", "steps"), _is_count, "a count"),
    (("skipped",), _is_count, "a count"),
    (("joint",), lambda v: isinstance(v, bool), "true or false"),
    (("seconds", "seconds_saving"), _is_number, "a number"),
    (("peak_memory_mb",), lambda v: v is None or _is_number(v), "a number"),
    (("avg_acc", "avg_of_avg_acc"), _is_percentage, "a percentage"),
    (
        ("random_accuracy",),
        lambda v: isinstance(v, list) and all(map(_is_percentage, v)),
        "a list of percentages",
    ),
    (
        ("domain_names", "class_names", "not_learned"),
        lambda v: isinstance(v, list) and all(isinstance(each, str) for each in v),
        "a list of texts",
    ),
    (("forgetting", "forward_transfer"), _is_change, "a difference of percentages"),
    (("accuracy_matrix",), _is_square_matrix, "a square matrix of percentages"),
    (("settings", "versions"), lambda v: isinstance(v, dict), "a list of entries"),
]

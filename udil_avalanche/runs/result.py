"""The result of a run: the entries of ``result.json``."""

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
    domain_names: NotRequired[list[str]]
    """The names of the domains of the user's own data."""
    class_names: NotRequired[list[str]]
    """The names of their classes."""
    skipped: NotRequired[int]
    """How many of their samples could not be read and were skipped."""

"""The figures of the paper's tables."""

import csv
from functools import cache
from importlib.resources import files

from udil_avalanche.report.statistic import Statistic
from udil_avalanche.settings import STRATEGIES, keeps_samples
from udil_avalanche.settings.strategies import JointSettings

PAPER_METHODS = (
    "Fine-tune",
    "oEWC",
    "SI",
    "LwF",
    "GEM",
    "A-GEM",
    "ER",
    "DER++",
    "CLS-ER",
    "ESM-ER",
    "UDIL",
    "Joint",
)
"""In the order of the paper's tables."""

METHODS = (
    *PAPER_METHODS[:-1],
    *(method for method in STRATEGIES if method not in PAPER_METHODS),
    PAPER_METHODS[-1],
)
"""All that there are, the paper's own first and joint training last."""

MEMORY_SIZES = {
    "hd_balls": (400,),
    "permuted_mnist": (200, 400, 800),
    "rotated_mnist": (200, 400, 800),
    "seq_core50": (500, 1000),
}


def memory_key(method: str, memory: int) -> str:
    """What the paper's tables have in the column for the memory.

    :param method: name of the method.
    :param memory: samples kept, if it keeps any.
    """
    if issubclass(STRATEGIES[method], JointSettings):
        return "inf"
    return str(memory) if keeps_samples(method) else ""


def paper_figure(
    benchmark: str, memory: int, method: str, metric: str
) -> Statistic | None:
    """A figure of the paper, in percent; None if it is not in the tables.

    :param benchmark: name of the benchmark.
    :param memory: samples kept, which matters only to methods that keep any.
    :param method: name of the method.
    :param metric: such as ``avg_acc`` or ``forgetting``.
    """
    return _figures().get((benchmark, memory_key(method, memory), method, metric))


def paper_metrics(benchmark: str) -> list[str]:
    """The metrics that the paper has for a benchmark, in its order.

    :param benchmark: name of the benchmark.
    """
    return list(dict.fromkeys(key[3] for key in _figures() if key[0] == benchmark))


@cache
def _figures() -> dict[tuple[str, str, str, str], Statistic]:
    table = files("udil_avalanche.report").joinpath("paper_tables.csv").read_text()
    return {
        (row["benchmark"], row["memory"], row["method"], row["metric"]): Statistic(
            float(row["mean_percent"]), float(row["std_percent"])
        )
        for row in csv.DictReader(table.splitlines())
        if row["mean_percent"] != "oom"  # the authors ran out of memory
    }


__all__ = [
    "MEMORY_SIZES",
    "METHODS",
    "PAPER_METHODS",
    "memory_key",
    "paper_figure",
    "paper_metrics",
]

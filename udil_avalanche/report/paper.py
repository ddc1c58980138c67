"""What the paper's tables hold: figures, methods, and sizes of the memory.

The rest of this package asks here which methods exist and what they are. Import the
module, not its names: ``paper.figure(...)``.
"""

import csv
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from udil_avalanche import recipes
from udil_avalanche.formatting import in_parentheses, settings_in_words
from udil_avalanche.report.statistic import Statistic

NO_MEMORY, ALL_DATA = "-", "∞"
"""What the memory column shows for methods that keep no samples, and for joint
training."""


class Place(NamedTuple):
    """Where a figure is in the paper's tables.

    :param benchmark: name of the benchmark.
    :param memory: what the memory column shows.
    :param method: name of the method.
    :param metric: name of the metric.
    """

    benchmark: str
    memory: str
    method: str
    metric: str


def _read_figures() -> dict[Place, Statistic | None]:
    table = files("udil_avalanche.report").joinpath("paper_tables.csv").read_text()
    _, *rows = csv.reader(table.splitlines())
    labels = {"": NO_MEMORY, "inf": ALL_DATA}
    return {
        Place(benchmark, labels.get(memory, memory), method, metric): (
            None if mean == "oom" else Statistic(float(mean), float(deviation))
        )
        for benchmark, memory, method, metric, mean, deviation in rows
    }


FIGURES = _read_figures()
"""All figures of the paper's tables; None where its authors ran out of memory."""


def _memory_sizes(benchmark: str) -> list[int]:
    sizes = {each.memory for each in FIGURES if each.benchmark == benchmark}
    return sorted(int(size) for size in sizes if size.isdigit())


def is_joint(method: str) -> bool:
    """Whether a method trains on all domains at once.

    :param method: name of the method.
    """
    return recipes.METHODS[method].is_joint


def has_memory(method: str) -> bool:
    """Whether a method keeps samples of past domains.

    :param method: name of the method.
    """
    return recipes.METHODS[method].has_memory


PAPER_METHODS = tuple(dict.fromkeys(place.method for place in FIGURES))
"""The methods of the paper's tables, in their order."""

_ALL = dict.fromkeys([*PAPER_METHODS, *recipes.METHODS])
METHODS = tuple(sorted(_ALL, key=is_joint))
"""All methods: the paper's, then any others, and joint training last."""

MEMORY_SIZES = {
    benchmark: _memory_sizes(benchmark)
    for benchmark in recipes.BENCHMARKS
    if _memory_sizes(benchmark)
}
"""The sizes of the memory in the paper's tables, by benchmark."""


def task_title(benchmark: str, changed: Mapping[str, Any], memory: int | None) -> str:
    """What is learned: HD-Balls (domains=5), 400 samples in memory.

    :param benchmark: name of the benchmark.
    :param changed: the settings that make its data different from the default.
    :param memory: samples kept; None if that does not matter.
    """
    title = recipes.BENCHMARKS[benchmark].title
    kept = "" if memory is None else f", {memory} samples in memory"
    return f"{title}{in_parentheses(settings_in_words(changed))}{kept}"


def memory_label(method: str, memory: int | None) -> str:
    """What the memory column of a table shows.

    :param method: name of the method.
    :param memory: samples kept; it matters only to methods that keep any.
    """
    if is_joint(method):
        return ALL_DATA
    return str(memory) if has_memory(method) else NO_MEMORY


def figure(
    benchmark: str, memory: int | None, method: str, metric: str
) -> Statistic | None:
    """A figure of the paper in percent; None if its tables do not have it.

    :param benchmark: name of the benchmark.
    :param memory: samples kept; it matters only to methods that keep any.
    :param method: name of the method.
    :param metric: such as ``avg_acc`` or ``forgetting``.
    """
    label = memory_label(method, memory)
    return FIGURES.get(Place(benchmark, label, method, metric))


def metrics(benchmark: str) -> list[str]:
    """The metrics that the paper reports for a benchmark, in its order.

    :param benchmark: name of the benchmark.
    """
    here = [place.metric for place in FIGURES if place.benchmark == benchmark]
    return list(dict.fromkeys(here))


def heading(metric: str) -> str:
    """A metric as the paper writes it: ``A_{1:5}`` for ``avg_acc_1_5``; others in
    words.

    :param metric: name of the metric.
    """
    domains = re.fullmatch(r"avg_acc_(\d+)_(\d+)", metric)
    if domains is not None:
        return "A_{{{}:{}}}".format(*domains.groups())
    return {"avg_acc": "average accuracy"}.get(metric, metric.replace("_", " "))

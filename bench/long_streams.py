"""Long streams: what a domain costs at their beginning and at their end."""

import io
import tempfile
import time
from contextlib import redirect_stdout
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.state.saving import SavingPlugin
from udil_avalanche.runs.torch_setup import set_up_torch

FULL_MEMORY = 60
"""The first domain that is counted: from about 40 on, the memory is full."""


def long_stream(strategy: str, domains: int) -> dict[str, float]:
    """Milliseconds of a processor for a domain of HD-Balls, 50 samples and a memory of
    2,000, near the beginning and at the end of a stream, without the tests of old
    domains; the part of it that goes into saving; and the resident memory.

    :param strategy: how to learn.
    :param domains: number of domains.
    """
    # A process of its own, so that its peak memory is that of the run alone.
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (strategy, domains))


def _measured(strategy: str, domains: int) -> dict[str, float]:
    set_up_torch()
    ends, saved, memory = [time.process_time()], [0.0], [0.0]
    save = SavingPlugin.end_domain

    def timed(self: SavingPlugin, strategy: Strategy, line: dict[str, Any]) -> None:
        begin = time.process_time()
        save(self, strategy, line)
        ends.append(time.process_time())
        saved.append(ends[-1] - begin)
        memory.append(experiment._peak_memory_mb() or 0.0)

    SavingPlugin.end_domain = timed  # type: ignore[method-assign]
    data = {"domains": domains, "train_per_domain": 50, "test_per_domain": 20}
    model = {"epochs": 1, "batch_size": 25, "hidden": 32, "threads": 1}
    with tempfile.TemporaryDirectory() as output:
        place = {"memory": 2000, "test_every": domains, "output": output}
        options = {**data, **model, **place}
        settings = resolve(strategy, "hd_balls", options=options, configs=None)
        # A line for each of 1,000 domains would hide the figures.
        with redirect_stdout(io.StringIO()):
            result = experiment.run(settings, say=lambda message: None)
    first = min(FULL_MEMORY, max(1, domains // 4))
    width = max(1, min(50, domains // 4))
    # After the last domain all are tested, which is not part of what is measured.
    early = slice(first, first + width)
    late = slice(domains - 1 - width, domains - 1)
    costs = [later - earlier for earlier, later in pairwise(ends)]
    return {
        "ms a domain, early": 1000 * sum(costs[early]) / len(costs[early]),
        "ms a domain, late": 1000 * sum(costs[late]) / len(costs[late]),
        "ms to save, late": 1000 * sum(saved[1:][late]) / len(saved[1:][late]),
        "MB, early": memory[first],
        "MB, late": memory[domains - 1],
        "s in all": result["seconds"],
    }


__all__ = ["long_stream"]

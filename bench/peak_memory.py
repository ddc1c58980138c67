"""Peak resident memory by domain, measured in a separate process; on Linux only.

``python -m bench.peak_memory data 20`` learns a few steps of each of the
20 domains of rotated MNIST, with all 60,000 images in each, evaluates the model on all
of them, and prints a line of JSON.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from avalanche.training.plugins import SupervisedPlugin

from bench.scale import Scale
from bench.workload import PAPERS_FORMULAS, measured_settings, silent_evaluator
from udil_avalanche.benchmarks import rotated_mnist
from udil_avalanche.models.mlp import mlp
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.runs.torch_setup import set_up_torch

STEPS = 5
EVALUATIONS = 2
"""How many of the domains are followed by an evaluation."""


class _FewSteps(SupervisedPlugin):  # type: ignore[misc,unused-ignore]
    """Takes only a few steps, as the memory does not depend on their number."""

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        strategy.dataloader = list(islice(_one_at_a_time(strategy.dataloader), STEPS))


def _one_at_a_time(loader: Any) -> Iterator[Any]:
    yield from loader


def peak_memory(scale: Scale) -> dict[str, float]:
    """Peak megabytes until the end of domain t, by t.

    :param scale: how much to measure.
    """
    command = [sys.executable, "-m", __name__, str(scale.root)]
    done = subprocess.run(
        [*command, str(scale.memory_domains)],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    peaks: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def _measure(root: str, domains: int) -> dict[str, float]:
    settings = measured_settings("UDIL", {}, PAPERS_FORMULAS)
    benchmark = rotated_mnist(root, domains=domains)
    strategy = build_strategy(
        settings, mlp(), evaluator=silent_evaluator(), plugins=[_FewSteps()]
    )
    peaks = {"start": _peak()}
    for t, domain in enumerate(benchmark.train_stream, start=1):
        strategy.train(domain)
        if t % max(1, domains // EVALUATIONS) == 0:
            strategy.eval(benchmark.test_stream)
        peaks[str(t)] = _peak()
    return peaks


def _peak() -> float:
    """The largest resident memory so far, in MB. (``getrusage`` would start from the
    parent's.)"""
    status = Path("/proc/self/status").read_text()
    [kilobytes] = re.findall(r"VmHWM:\s*(\d+) kB", status)
    return int(kilobytes) / 1024


if __name__ == "__main__":
    set_up_torch()
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))


__all__ = ["peak_memory"]

"""Run folders as a run leaves them, with a made-up accuracy matrix."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.evaluation import average_accuracy, forgetting
from udil_avalanche.report.paper import METHODS
from udil_avalanche.resolve import resolve
from udil_avalanche.run_folder import RunFolder, versions
from udil_avalanche.settings import as_dict

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Makes the folder of a finished run that ends with a given average accuracy and
    has forgotten ``lost`` percent of every earlier domain."""

    def make(
        strategy: str = "ER",
        benchmark: str = "hd_balls",
        *,
        accuracy: float = 80.0,
        lost: float = 5.0,
        output: Path = tmp_path / "runs",
        seconds: float = 60.0,
        data: str | None = None,
        **options: Any,
    ) -> Path:
        options = {"output": str(output), **options}
        settings = resolve(strategy, benchmark, options=options, configs=tmp_path)
        domains = settings.domains
        last = np.full(domains, accuracy)
        R = np.tile(last + lost * domains / max(domains - 1, 1), (domains, 1))
        R[-1] = last
        joint = strategy == "Joint"
        if joint:
            R[:-1] = np.nan
        folder = RunFolder.of(settings)
        folder.begin(settings)
        for t in range(domains if joint else 1, domains + 1):
            folder.add_metrics({"domain": t, "accuracies": R[t - 1].tolist()})
        folder.finish(
            {
                "benchmark": benchmark,
                "strategy": strategy,
                "memory": settings.memory,
                "joint": joint,
                "seed": settings.seed,
                "data": data or benchmark.replace("rotated_", ""),
                "avg_acc": average_accuracy(R, domains),
                "forgetting": None if joint else forgetting(R, domains),
                "forward_transfer": None,
                "seconds": seconds,
                "steps": 100,
                "accuracy_matrix": R.tolist(),
                "random_accuracy": [50.0] * domains,
                "settings": as_dict(settings),
                "versions": versions(),
            }
        )
        return folder.path

    return make


@pytest.fixture
def all_methods(make_run: MakeRun, tmp_path: Path) -> Path:
    """The output folder of all methods on HD-Balls, three seeds each."""
    for place, method in enumerate(METHODS):
        for seed in range(3):
            make_run(method, accuracy=60.0 + 2 * place + seed, seed=seed)
    return tmp_path / "runs"

"""Run folders as a run leaves them, with a made-up accuracy matrix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from udil_avalanche.evaluation.formulas import average_accuracy, forgetting
from udil_avalanche.recipes import as_dict
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.report.paper import METHODS, PAPER_METHODS
from udil_avalanche.runs.run_folder import RunFolder, versions

MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def write_run(tmp_path_factory: pytest.TempPathFactory) -> MakeRun:
    """Writes the folder of a finished run that ends with a given average accuracy and
    has forgotten ``lost`` percent of every earlier domain. Its version did not know
    the ``unknown`` settings yet. ``last`` has the accuracies after the last domain if
    they are not all the same."""
    no_configs = tmp_path_factory.mktemp("configs")
    made_with = versions()

    def write(
        strategy: str,
        benchmark: str,
        output: Path,
        *,
        accuracy: float = 80.0,
        lost: float = 5.0,
        seconds: float = 60.0,
        data: str | None = None,
        root: str = "data",
        unknown: tuple[str, ...] = (),
        last: npt.ArrayLike | None = None,
        **options: Any,
    ) -> Path:
        options = {"output": str(output), "data": root, **options}
        settings = resolve(strategy, benchmark, options=options, configs=no_configs)
        domains = settings.domains
        last = np.full(domains, accuracy) if last is None else np.asarray(last)
        R = np.tile(last + lost * domains / max(domains - 1, 1), (domains, 1))
        R[-1] = last
        joint = strategy == "Joint"
        if joint:
            R[:-1] = np.nan
        folder = RunFolder.of(settings)
        folder.begin(settings)
        lines = []
        for t in range(domains if joint else 1, domains + 1):
            line: dict[str, Any] = {"domain": t, "accuracies": R[t - 1].tolist()}
            if strategy == "UDIL" and t > 1:
                line |= {name: [1 / 3] * (t - 1) for name in ("alpha", "beta", "gamma")}
            lines.append(json.dumps(line))
        (folder.path / "metrics.jsonl").write_text("\n".join(lines))
        names = [t for t in range(1, domains + 1) for _ in range(4)]
        points = np.random.default_rng(settings.seed).normal(size=(2, len(names)))
        embeddings = {
            "x": points[0].tolist(),
            "y": points[1].tolist(),
            "label": [0, 1, 0, 1] * domains,
            "domain": names,
            "explained": [0.5, 0.2],
        }
        folder.write_json("embeddings.json", embeddings)
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
                "peak_memory_mb": 512.0,
                "accuracy_matrix": R.tolist(),
                "random_accuracy": [50.0] * domains,
                "settings": {
                    key: value
                    for key, value in as_dict(settings).items()
                    if key not in unknown
                },
                "versions": made_with,
            }
        )
        return folder.path

    return write


@pytest.fixture
def make_run(write_run: MakeRun, tmp_path: Path) -> MakeRun:
    """Writes a run into the test's own folder."""

    def make(
        strategy: str = "ER",
        benchmark: str = "hd_balls",
        output: Path = tmp_path / "runs",
        **options: Any,
    ) -> Path:
        return write_run(strategy, benchmark, output, **options)

    return make


@pytest.fixture(scope="session")
def all_methods(write_run: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of all methods on HD-Balls, three seeds each. The paper's
    methods are in its order, with UDIL ahead; others are not as good."""
    output = tmp_path_factory.mktemp("all") / "runs"
    for method in METHODS:
        in_paper = method in PAPER_METHODS
        place = PAPER_METHODS.index(method) if in_paper else 0
        for seed in range(3):
            write_run(
                method,
                "hd_balls",
                output,
                accuracy=60.0 + 2 * place + seed,
                seconds=60.0 * (1 + place),
                seed=seed,
            )
    return output

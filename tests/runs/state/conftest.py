"""Runs that are small enough to be broken off many times."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.run_folder import RunFolder

TIMES = ("seconds", "seconds_saving", "peak_memory_mb")


@pytest.fixture(scope="session")
def tiny() -> Callable[..., RunSettings]:
    """Makes the settings of a run of 24 steps: three domains of two epochs of four."""

    def tiny(strategy: str, output: Path, **options: Any) -> RunSettings:
        data = {"domains": 3, "train_per_domain": 256, "test_per_domain": 64}
        model = {"dimensions": 10, "hidden": 16, "optimizer": "adam", "lr": 3e-3}
        steps = {"epochs": 2, "batch_size": 64, "threads": 1, "save_every": 0}
        if METHODS[strategy].has_memory:
            data["memory"] = 60
        if "memory_batch" in METHODS[strategy].settings.model_fields:
            # Fewer than the memory holds: every step draws at random.
            steps["memory_batch"] = 20
        if "random_features" in METHODS[strategy].settings.model_fields:
            model["random_features"] = 30
        options = {**data, **model, **steps, "output": str(output), **options}
        output.mkdir(exist_ok=True)
        return resolve(strategy, "hd_balls", options=options, configs=output)

    return tiny


@pytest.fixture(scope="session")
def outcome() -> Callable[[RunSettings], Any]:
    """Reads all that two runs of the same settings share: everything but the time."""

    def outcome(settings: RunSettings) -> Any:
        folder = RunFolder.of(settings)
        lines = (folder.path / "metrics.jsonl").read_text().splitlines()
        entries = [folder.result(), *map(json.loads, lines)]
        for entry in entries:
            for key in (*TIMES, "settings", "versions"):
                entry.pop(key, None)
        return entries, (folder.path / "model.safetensors").read_bytes()

    return outcome


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs, and is tested elsewhere."""
    monkeypatch.setattr("udil_avalanche.runs.experiment._draw", lambda *arguments: None)
    value = "udil_avalanche.evaluation.domain_metrics._AccuracyMatrixValue"
    monkeypatch.setattr(f"{value}.best_supported_value", lambda *arguments: None)


@pytest.fixture(scope="package", autouse=True)
def threads() -> Iterator[None]:
    """Lets other tests have their threads back, and their smallest numbers."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
    torch.set_flush_denormal(False)

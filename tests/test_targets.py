"""The accuracy that the configurations promise. Takes minutes: pytest -m slow."""

from pathlib import Path

import pytest

from udil_avalanche.benchmarks.core50_sample import make_core50_sample
from udil_avalanche.experiment import run
from udil_avalanche.resolve import resolve


@pytest.mark.slow
def test_udil_on_rotated_mnist_reaches_the_papers_figures(
    mnist_root: Path, tmp_path: Path
) -> None:
    options = {"output": str(tmp_path), "data": str(mnist_root)}
    result = run(resolve("UDIL", "rotated_mnist", options=options))
    assert result["avg_acc"] >= 86.6
    assert result["forgetting"] <= 8.5
    assert result["seconds"] < 15 * 60


@pytest.mark.slow
def test_udil_is_ahead_on_the_stand_in_for_core50(tmp_path: Path) -> None:
    make_core50_sample(tmp_path, objects=10, frames=20)
    common = {"data": str(tmp_path), "output": str(tmp_path), "objects": 10}
    small = {"image_size": 32, "threads": 1, "workers": 1}
    accuracies = {}
    for strategy, memory in (("UDIL", 50), ("ER", 50), ("Fine-tune", 0)):
        options = {**common, **small, "memory": memory}
        result = run(resolve(strategy, "seq_core50", options=options))
        accuracies[strategy] = result["avg_acc"]
    assert accuracies["UDIL"] > accuracies["ER"] > accuracies["Fine-tune"]

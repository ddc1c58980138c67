"""The accuracy that the configurations promise. Takes minutes: pytest -m slow."""

from pathlib import Path

import pytest

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

"""The accuracy that the configurations promise. Takes minutes: pytest -m slow."""

from pathlib import Path

import pytest

from examples.core50_stand_in import make_core50_sample
from udil_avalanche.recipes.resolve import CONFIGS, resolve
from udil_avalanche.runs.experiment import run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config_file", "minutes"),
    [(None, 30), (CONFIGS / "quick" / "rotated_mnist.yaml", 15)],
    ids=["all images", "quick"],
)
def test_udil_on_rotated_mnist_reaches_the_papers_figures(
    config_file: Path | None, minutes: int, mnist_root: Path, tmp_path: Path
) -> None:
    options = {"output": str(tmp_path), "data": str(mnist_root)}
    result = run(
        resolve("UDIL", "rotated_mnist", config_file=config_file, options=options)
    )
    assert result["avg_acc"] >= 86.6
    assert result["forgetting"] <= 8.5
    assert result["seconds"] < minutes * 60


@pytest.mark.slow
def test_udil_leads_er_and_fine_tuning_on_the_stand_in_for_core50(
    tmp_path: Path,
) -> None:
    make_core50_sample(tmp_path / "data", objects=10, frames=20)
    options = {
        "output": str(tmp_path / "runs"),
        "data": str(tmp_path / "data"),
        "objects": 10,
        "image_size": 32,
    }
    udil, er, fine_tune = (
        run(resolve(name, "seq_core50", options=options | memory))["avg_acc"]
        for name, memory in (
            ("UDIL", {"memory": 50}),
            ("ER", {"memory": 50}),
            ("Fine-tune", {}),
        )
    )
    assert udil > er > fine_tune

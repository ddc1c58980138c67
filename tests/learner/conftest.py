"""Small domains of arrays, on which the rule that separates the classes moves."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.learner.frozen_models import frozen_model
from tests.learner.stored_models import byte_model, float_model, image_model

__all__ = ["byte_model", "domains", "float_model", "frozen_model", "image_model"]

FEATURES = 8


def write_domain(path: Path, t: int, n: int = 240, split: bool = True) -> Path:
    """A domain whose classes are told apart by feature ``t``."""
    rng = np.random.default_rng(t)
    x = rng.normal(size=(n, FEATURES)).astype(np.float32)
    y = (x[:, t % FEATURES] > 0).astype(np.int64) + (x[:, (t + 1) % FEATURES] > 0)
    k = n * 3 // 4
    arrays = {"x": x, "y": y}
    if split:
        arrays = {"x": x[:k], "y": y[:k], "x_test": x[k:], "y_test": y[k:]}
    np.savez(path, **arrays)
    return path


@pytest.fixture
def domains(tmp_path: Path) -> Callable[[int], Path]:
    """Writes a folder with so many domains, split into training and test samples."""

    def make(n: int, split: bool = True) -> Path:
        root = tmp_path / "data"
        root.mkdir(exist_ok=True)
        for t in range(n):
            write_domain(root / f"d{t}.npz", t, split=split)
        return root

    return make

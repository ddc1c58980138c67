"""Domains that return, and domains whose samples are removed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from udil_avalanche.errors import ModelError
from udil_avalanche.learner.forgetting import forget
from udil_avalanche.learner.inspection import memory_of
from udil_avalanche.learner.learner import DomainLearner
from udil_avalanche.recipes import METHODS

MEMORY_METHODS = [
    name for name, each in METHODS.items() if each.has_memory and not each.is_joint
]


def bytes_of(learner: DomainLearner) -> bytes:
    files = (f for f in learner.folder.path.rglob("*") if f.is_file())
    return b"".join(file.read_bytes() for file in files)


@pytest.mark.parametrize("strategy", MEMORY_METHODS)
def test_a_returning_domain_is_counted_once(
    strategy: str, domains: Callable[[int], Path], tmp_path: Path
) -> None:
    root = domains(3)
    learner = DomainLearner(strategy, memory=30, epochs=1, hidden=8)
    for t in range(3):
        learner.update(root / f"d{t}.npz")
    again = np.load(root / "d1.npz")
    record = learner.update(again["x"] + 1, again["y"], name="d1")
    assert record.names == ["d0", "d2", "d1"]
    version = learner.folder.version()
    stored = memory_of(version)
    if strategy != "ER" or stored:
        assert stored.keys() == {"d0", "d2", "d1"}
    fresh = torch.from_numpy(again["x"] + 1)
    for row in stored["d1"][0]:
        assert (fresh == row).all(dim=1).any()
    for name in ("d0", "d2"):
        data = torch.from_numpy(np.load(root / f"{name}.npz")["x"])
        assert all((data == row).all(dim=1).any() for row in stored[name][0])


def test_forgotten_samples_are_in_no_file(
    domains: Callable[[int], Path], tmp_path: Path
) -> None:
    root = domains(3)
    learner = DomainLearner("UDIL", memory=30, epochs=1, hidden=8)
    for t in range(3):
        learner.update(root / f"d{t}.npz")
    version = learner.folder.version()
    secret = [row.numpy().tobytes() for row in memory_of(version)["d1"][0]]
    secret += [row.numpy().tobytes() for row in version.reserves["d1"].inputs]
    assert all(row in bytes_of(learner) for row in secret)

    assert forget(learner.folder, "d1") == [2, 3]
    left = bytes_of(learner)
    assert not any(row in left for row in secret)
    assert learner.record.names == ["d0", "d2"]
    assert learner.record.forgotten == ["d1"]
    # The model goes on, and so does forgetting.
    assert forget(learner.folder, "d1") == []
    np.savez(root / "d3.npz", **np.load(root / "d0.npz"))
    assert learner.update(root / "d3.npz").names == ["d0", "d2", "d3"]
    with pytest.raises(ModelError, match="no domain d9"):
        forget(learner.folder, "d9")

"""Runs of version 0.1, kept before the package was rearranged, come out the same.

``kept_runs.json`` holds the accuracy matrix and the weights of six small runs. Where
torch rounds as it did on the machine that made them, which a small training loop in
plain torch finds out, the weights must be equal bit for bit. Elsewhere 16 random
projections of the weights must be close, or, where training amplifies rounding, the
accuracy on the first domain.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from udil_avalanche.models import linear
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

KEPT = json.loads(Path(__file__).with_name("kept_runs.json").read_text())
N_PROJECTIONS = 16
AMPLIFIES_ROUNDING = "UDIL on hd_balls"
"""Learns a few samples by steps of lr=1: from the second domain on, a difference in the
last bit grows until the weights have nothing in common."""


def projected(weights: dict[str, torch.Tensor]) -> list[float]:
    flat = torch.cat([weights[name].flatten().double() for name in sorted(weights)])
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(
        N_PROJECTIONS, len(flat), generator=generator, dtype=torch.double
    )
    return list((directions @ flat / len(flat) ** 0.5).tolist())


def digest_of_plain_training() -> str:
    """How this machine rounds: the weights after some steps of plain torch."""
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10)
    )
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for parameter in weights.values():
            parameter.copy_(0.05 * torch.randn(parameter.shape, generator=generator))
    for optimizer in (
        torch.optim.SGD(model.parameters(), lr=0.5, fused=True),
        torch.optim.Adam(model.parameters(), lr=1e-3, fused=True),
    ):
        for _ in range(20):
            x = torch.randn(256, 784, generator=generator)
            y = torch.randint(10, (256,), generator=generator)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    flat = torch.cat([parameter.detach().flatten() for parameter in weights.values()])
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("name", KEPT["runs"])
def test_a_kept_run_comes_out_the_same(
    name: str, mnist_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # oneDNN rounds in another way than torch's own products, by which they were made.
    monkeypatch.setattr(linear, "onednn_is_faster", lambda: False)
    kept: dict[str, Any] = KEPT["runs"][name]
    strategy, _, benchmark = name.partition(" on ")
    options = {
        **kept["options"],
        "threads": 1,
        "data": str(mnist_root),
        "output": str(tmp_path),
    }
    settings = resolve(strategy, benchmark, options=options)
    result = run(settings)
    folder = RunFolder.of(settings).path
    assert folder.name == kept["folder"]

    weights = folder / "model.safetensors"
    rounds_the_same = digest_of_plain_training() == KEPT["plain_training_sha256"]
    if rounds_the_same or name != AMPLIFIES_ROUNDING:
        assert projected(load_file(weights)) == pytest.approx(
            kept["projected_weights"], rel=0.01, abs=0.003
        )
    mine, theirs = result["accuracy_matrix"][0], kept["accuracy_matrix"][0]
    assert mine[0] == pytest.approx(theirs[0], abs=3)
    if rounds_the_same:
        assert (
            hashlib.sha256(weights.read_bytes()).hexdigest() == (kept["weights_sha256"])
        )
        assert result["accuracy_matrix"] == kept["accuracy_matrix"]

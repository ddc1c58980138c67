"""The benchmark can measure everything, and counts what it says it counts."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.__main__ import main
from bench.laps import by_turns, median_ratio
from bench.limit import udil_flops
from bench.scale import QUICK
from bench.steps import bare_step
from bench.workload import PAPERS_FORMULAS, strategy_at_domain
from udil_avalanche.models import linear
from udil_avalanche.recipes import METHODS


def numbers(values: Any) -> list[float]:
    if isinstance(values, dict):
        return [number for each in values.values() for number in numbers(each)]
    return [values] if isinstance(values, (int, float)) else []


@pytest.mark.slow
def test_all_is_measured_and_written(
    mnist_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "speed.json"
    deterministic = torch.are_deterministic_algorithms_enabled()
    try:
        main(["--quick", "--data", str(mnist_root), "--json", str(file)])
    finally:
        torch.use_deterministic_algorithms(deterministic)
    results = json.loads(file.read_text())

    steps = results["UDIL, a step"]
    assert list(steps) == ["128 + 128", "128 + 400"]
    for step in steps.values():
        assert {"ms", "bare loop ms", "limit ms"} < set(step)
    assert list(results["UDIL, a step by domain"]["ms"]) == ["2", "3"]
    methods = [
        name
        for name, recipe in METHODS.items()
        if not recipe.is_joint and recipe.build_head is None
    ]
    each = results["every method, a step"]
    assert list(each) == methods
    assert each["DER++"]["to DER++"] == 1
    assert len(results["images a second, data alone"]) == 4
    assert "times as many" in results["images a second, training"]
    assert results["evaluation"]["images"] == 10_000
    assert set(results["shares of a run"]) == {"UDIL", "Fine-tune"}
    files = results["images a second, image files"]
    assert [name.rpartition(" workers")[0] for name in files] == [
        "our loader, 1",
        "ImageFolder, 1",
        "our loader, 2",
        "ImageFolder, 2",
    ]
    features = results["features of image files"]
    assert features["a second time s"] < features["features s"]
    state = results["saving UDIL's state"]
    assert 1 <= state["to its tensors"] < 1.1, "it holds what it has to, and no more"
    predicted = results["predicting images in a file"]
    assert predicted["images"] == QUICK.images
    start = results["to the first prediction"]
    # By the clock, a busy machine may take longer for the import alone.
    start.pop("more s")
    assert start["more s of the processor"] > 0
    version = results["a further version of a model"]
    assert 0 < version["share of writing"] < 1
    assert 1 <= version["to new tensors"] < 1.1, "nothing is written twice"
    peaks = results["peak memory by domain, MB"]
    assert list(peaks) == ["start", *map(str, range(1, QUICK.memory_domains + 1))]

    results["UDIL, a step by domain"].pop("growth")
    assert min(numbers(results)) > 0
    shown = capsys.readouterr().out
    assert all(title in shown for title in ("UDIL, a step", "GEM", "evaluation"))


@pytest.mark.parametrize("memory_batch", [128, 400])
def test_the_limit_counts_the_products_of_the_bare_loop(
    mnist_root: Path, memory_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # torch does not count oneDNN's products.
    monkeypatch.setattr(linear, "onednn_is_faster", lambda: False)
    t = 3
    strategy, domain = strategy_at_domain(
        "UDIL", t, 1, root=mnist_root, config=PAPERS_FORMULAS
    )
    step = bare_step(strategy.model, strategy.replay.memory, domain, memory_batch)
    n_memory = min(memory_batch, len(strategy.replay.memory))
    with FlopCounterMode(display=False) as counter:
        step()
    counted, expected = counter.get_total_flops(), udil_flops(128, n_memory, t)
    assert counted == pytest.approx(expected, rel=0.01)


def test_turns_are_taken_one_by_one() -> None:
    called = []

    def case(name: str, times: list[float]) -> Any:
        def timed() -> float:
            called.append(name)
            return times.pop(0)

        return timed

    times = by_turns({"a": case("a", [4, 9, 2]), "b": case("b", [2, 3, 2])}, repeats=3)
    assert called == ["a", "b"] * 3
    assert median_ratio(times["a"], times["b"]) == 2

"""Updates of a model folder: exact, resumable, judged, never half done."""

import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from udil_avalanche.cli.main import main
from udil_avalanche.errors import ModelError, RunLocked
from udil_avalanche.learner.learner import DomainLearner
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.lock import locked

Domains = Callable[[int], Path]
STRATEGIES = ["UDIL", "DER++", "ESM-ER", "oEWC", "GEM", "LwF", "SLDA"]
QUICK: dict[str, Any] = {"epochs": 2, "hidden": 16, "batch_size": 32}


@pytest.fixture(scope="module")
def start() -> Callable[[Sequence[str]], Any]:
    """Starts the command line in a separate process, forked from a server that has
    torch loaded."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["udil_avalanche.learner.learner"])

    def start(arguments: Sequence[str]) -> Any:
        process = context.Process(target=main, args=(list(arguments),))
        process.start()
        return process

    return start


def one_run(strategy: str, benchmark: str, root: Path, **options: Any) -> Any:
    """The weights of a run over all domains of a folder."""
    options |= {"data": str(root), "output": str(root.parent / "runs")}
    settings = resolve(strategy, benchmark, options=options)
    run(settings)
    return load_file(RunFolder.of(settings).path / "model.safetensors")


def assert_same_weights(found: dict[str, torch.Tensor], expected: Any) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def killed_and_finished(
    arguments: Sequence[str], folder: ModelFolder, start: Callable[..., Any]
) -> None:
    """Start a command, kill it when it has saved a state, and let it finish."""
    process = start([*arguments, "save_every=0"])
    while process.is_alive() and not list(folder.under_way.glob("state/0*")):
        time.sleep(0.001)
    was_alive = process.is_alive()
    process.kill()
    process.join()
    assert was_alive
    process = start(arguments)
    process.join(120)
    assert process.exitcode == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_updates_in_processes_that_are_killed_equal_one_run(
    strategy: str, domains: Domains, tmp_path: Path, start: Callable[..., Any]
) -> None:
    root, options = domains(5), dict(QUICK)
    if METHODS[strategy].has_memory:
        options["memory"] = 30
    expected = one_run(strategy, "arrays", root, **options)
    folder = ModelFolder(tmp_path / "model")
    words = [f"{key}={value}" for key, value in options.items()]
    for t in range(5):
        command = ["update", str(folder.path)]
        if t == 0:
            command = ["learn", str(folder.path), "--strategy", strategy, *words]
        command += ["--data", str(root / f"d{t}.npz"), "threads=1"]
        if t == 0:
            command += ["classes=0,1,2"]
        if t in (0, 2, 3):
            killed_and_finished(command, folder, start)
        else:
            process = start(command)
            process.join(120)
            assert process.exitcode == 0
        assert folder.current == t + 1
        assert not folder.under_way.exists()
    # The sums of a classifier in closed form are in the state alone.
    learned = {**folder.version().state["model"], **folder.weights()}
    assert_same_weights(learned, expected)
    assert folder.record().names == [f"d{t}" for t in range(5)]


def write_images(folder: Path, t: int) -> None:
    """A domain of little images: two classes, told apart by their brightness."""
    rng = np.random.default_rng(t)
    for part, n in (("train", 16), ("test", 8)):
        for label, brightness in (("dark", 60), ("light", 160)):
            place = folder / part / label
            place.mkdir(parents=True)
            for k in range(n):
                noise = rng.integers(-40, 40, size=(16, 16, 3))
                pixels = np.clip(brightness + 10 * t + noise, 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(place / f"{k}.png")


def test_image_folders_learned_one_by_one_equal_one_run(
    tmp_path: Path, start: Callable[..., Any]
) -> None:
    root = tmp_path / "images"
    for t in range(3):
        write_images(root / f"shop{t}", t)
    options = {"image_size": 32, "memory": 12, "epochs": 2, "batch_size": 8}
    options |= {"memory_batch": 8, "workers": 0, "network": "shufflenet_v2_x0_5"}
    expected = one_run("UDIL", "folders", root, **options)
    folder = ModelFolder(tmp_path / "model")
    words = [f"{key}={value}" for key, value in options.items()]
    first = ["learn", str(folder.path), "--data", str(root / "shop0"), *words]
    killed_and_finished([*first, "threads=1"], folder, start)
    for t in (1, 2):
        command = ["update", str(folder.path), "--data", str(root / f"shop{t}")]
        process = start([*command, "threads=1"])
        process.join(180)
        assert process.exitcode == 0
    assert_same_weights(folder.weights(), expected)


MOMENTS = ["write", "make_current", "drop_update"]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [False, True])
def test_an_update_that_fails_between_two_operations_is_finished(
    moment: str,
    after: bool,
    domains: Domains,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = domains(2)
    learner = DomainLearner(
        "ER", path=tmp_path / "model", classes=["0", "1", "2"], memory=20, **QUICK
    )
    learner.update(root / "d0.npz")
    expected = DomainLearner("ER", classes=["0", "1", "2"], memory=20, **QUICK)
    for t in range(2):
        expected.update(root / f"d{t}.npz")
    real = getattr(ModelFolder, moment)

    def broken(self: ModelFolder, *arguments: Any) -> Any:
        if after:
            real(self, *arguments)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        # The folder is cleared once before an update begins.
        calls = iter([moment != "drop_update"])
        patch.setattr(
            ModelFolder,
            moment,
            lambda self, *a: broken(self, *a) if next(calls, True) else real(self, *a),
        )
        with pytest.raises(RuntimeError, match="power cut"):
            learner.update(root / "d1.npz")
    assert learner.folder.current in (1, 2)
    DomainLearner.load(tmp_path / "model").update(root / "d1.npz")
    folder = ModelFolder(tmp_path / "model")
    assert folder.current == 2
    assert folder.numbers == [1, 2]
    assert not folder.under_way.exists()
    assert_same_weights(folder.weights(), expected.folder.weights())


def test_another_update_does_not_take_over_one_that_was_interrupted(
    domains: Domains, tmp_path: Path
) -> None:
    root = domains(3)
    learner = DomainLearner("ER", path=tmp_path / "model", memory=20, **QUICK)
    learner.update(root / "d0.npz")
    plan = learner.folder.under_way / "plan.json"
    plan.parent.mkdir()
    begun = {"domain": "d1", "data": "?", "classes": [], "parent": 1, "number": 2}
    plan.write_text(json.dumps(begun))
    with pytest.raises(ModelError, match="with d1 was interrupted"):
        learner.update(root / "d2.npz")
    assert learner.update(root / "d2.npz", restart=True).number == 2


def test_a_second_process_is_told_that_the_model_is_in_use(
    domains: Domains, tmp_path: Path
) -> None:
    root = domains(2)
    learner = DomainLearner("ER", path=tmp_path / "model", memory=20, **QUICK)
    learner.update(root / "d0.npz")
    with locked(learner.folder.path), pytest.raises(RunLocked, match="is using"):
        learner.update(root / "d1.npz")


def test_the_same_update_again_changes_nothing(domains: Domains) -> None:
    root = domains(2)
    learner = DomainLearner("ER", memory=20, **QUICK)
    learner.update(root / "d0.npz")
    said: list[str] = []
    again = DomainLearner.load(learner.folder.path, say=said.append)
    assert again.update(root / "d0.npz").number == 1
    assert again.folder.numbers == [1]
    assert "already" in said[0]


def test_a_harmful_update_is_set_aside_and_can_be_used_all_the_same(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    learner = DomainLearner("Fine-tune", epochs=5, hidden=16)
    learner.update(x, y, name="first")
    opposite = learner.update(x + 0.01, 1 - y, name="opposite", max_drop=5)
    change = opposite.changes["first"]
    lost = change["before"] - change["after"]
    assert opposite.aside is not None
    assert opposite.aside.startswith(f"first {lost:.1f} points: more than 5, and")
    assert learner.folder.current == 1
    learner.folder.make_current(2)
    assert learner.record.domain == "opposite"


def test_a_domain_without_a_reserve_is_said_to_be_unknown(domains: Domains) -> None:
    root = domains(2)
    learner = DomainLearner("ER", memory=20, reserve=0, **QUICK)
    learner.update(root / "d0.npz")
    record = learner.update(root / "d1.npz", max_drop=0)
    assert record.changes["d0"] == {"n": 0, "before": None, "after": None}
    assert record.aside is None


def test_only_new_tensors_are_written(domains: Domains) -> None:
    root = domains(2, split=False)
    learner = DomainLearner("UDIL", memory=20, epochs=1, hidden=200, average=0)
    learner.update(root / "d0.npz")
    before, files = learner.folder.size(), set(learner.folder.tensors.iterdir())
    learner.update(root / "d1.npz")
    new = set(learner.folder.tensors.iterdir()) - files
    grown = learner.folder.size() - before
    small = sum(
        f.stat().st_size for f in (learner.folder.versions / "000002").iterdir()
    )
    assert grown == small + sum(file.stat().st_size for file in new)
    # H_1 is the model itself: its weights are there once.
    weights = learner.folder.weights()
    sizes = sorted(t.nbytes for t in weights.values() if t.nbytes >= 2**14)
    assert len(new) == len(sizes)


def test_time_that_was_saved_with_a_state_is_counted_once(domains: Domains) -> None:
    root = domains(1)
    begin = time.perf_counter()
    learner = DomainLearner("ER", memory=20, save_every=0, **QUICK)
    record = learner.update(root / "d0.npz")
    assert 0 < record.seconds < time.perf_counter() - begin

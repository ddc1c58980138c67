"""Whole runs that are stopped, damaged, or given wrong settings."""

import errno
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from udil_avalanche.errors import RunError, RunStopped, SettingsError
from udil_avalanche.plugins import FiniteLossPlugin
from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.runs import experiment
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.lock import locked
from udil_avalanche.runs.state.tree import split

Tiny = Callable[..., RunSettings]
Outcome = Callable[[RunSettings], Any]


def act(hook: str, step: int, action: Callable[[Any], None]) -> Any:
    """Have something done in a step, counted over all domains."""

    class Actor(FiniteLossPlugin):
        pass

    original = getattr(Actor, hook)

    def acting(self: Any, strategy: Any, **kwargs: Any) -> None:
        if strategy.clock.train_iterations + 1 == step:
            action(strategy)
        original(self, strategy, **kwargs)

    setattr(Actor, hook, acting)
    patch = pytest.MonkeyPatch()
    patch.setattr(experiment, "FiniteLossPlugin", Actor)
    return patch


def interrupt(settings: RunSettings, step: int, number: int = signal.SIGINT) -> str:
    """Run until a signal comes in the given step; return the run's message."""
    patch = act("before_backward", step, lambda _: signal.raise_signal(number))
    try:
        with pytest.raises(RunStopped) as stopped:
            run(settings)
    finally:
        patch.undo()
    assert stopped.value.signal_number == number
    return str(stopped.value)


@pytest.fixture(scope="module")
def whole(
    tiny: Tiny, outcome: Outcome, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """The result of an undisturbed run of UDIL."""
    settings = tiny("UDIL", tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "_draw", lambda *arguments: None)
        run(settings)
    return outcome(settings)


@pytest.fixture
def begun(tiny: Tiny, tmp_path: Path) -> RunSettings:
    """A run of UDIL that was stopped in its last domain, two states behind it."""
    settings = tiny("UDIL", tmp_path)
    interrupt(settings, step=22)
    assert len(list(RunFolder.of(settings).state.iterdir())) == 2
    return settings.model_copy(update=dict(save_every=1e9))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_run_goes_on(
    number: int, tiny: Tiny, outcome: Outcome, whole: Any, tmp_path: Path
) -> None:
    settings = tiny("UDIL", tmp_path, save_every=1e9)
    message = interrupt(settings, step=13, number=number)
    assert "stopped in domain 2, after step 13" in message
    assert "the same command resumes" in message
    said: list[str] = []
    run(settings, say=said.append)
    assert said == [
        "This run was started but not finished: resuming after step 13, in domain 2."
    ]
    assert outcome(settings) == whole


def test_a_signal_during_evaluation_waits_for_the_domains_end(
    tiny: Tiny, outcome: Outcome, whole: Any, tmp_path: Path
) -> None:
    settings = tiny("UDIL", tmp_path, save_every=1e9)
    patch = act("after_eval", 9, lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(RunStopped, match="stopped after domain 1, after step 8"):
        run(settings)
    patch.undo()
    run(settings)
    assert outcome(settings) == whole


def test_time_adds_up_over_the_parts(tiny: Tiny, tmp_path: Path) -> None:
    settings = tiny("Fine-tune", tmp_path)
    interrupt(settings, step=10)
    state = StateFolder(RunFolder.of(settings).state).read()
    assert state is not None
    before = state["record"]
    assert before["seconds"] > before["experience_seconds"] > 0
    metrics = RunFolder.of(settings).metrics
    first = json.loads(metrics.read_text())
    result = run(settings)
    lines = metrics.read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds[0] == first["seconds"]
    assert seconds[1] > before["experience_seconds"]
    assert result["seconds"] > before["seconds"] + seconds[2]
    assert 0 < result["seconds_saving"] < result["seconds"]


def test_a_finished_run_keeps_no_state(begun: RunSettings) -> None:
    run(begun)
    folder = RunFolder.of(begun)
    assert not folder.state.exists()
    folder.check()


def test_tensorboard_shows_every_step_once(begun: RunSettings) -> None:
    # Step 22 was logged, and is to be done again.
    shutil.rmtree(sorted(RunFolder.of(begun).state.iterdir())[-1])
    run(begun)
    events = EventAccumulator(str(RunFolder.of(begun).tensorboard))
    events.Reload()
    scalars = events.Tags()["scalars"]
    for name, expected in {"Domain/avg_acc": 3, "Loss_Epoch": 6}.items():
        steps = [
            event.step
            for tag in scalars
            if tag.startswith(name)
            for event in events.Scalars(tag)
        ]
        assert sorted(steps) == sorted(set(steps)), name
        assert len(steps) == expected, name


def test_a_state_is_little_more_than_its_tensors(tiny: Tiny, tmp_path: Path) -> None:
    sizes = {"hidden": 200, "hidden_discriminator": 200}
    settings = tiny("UDIL", tmp_path, lambda_d=0.1, optimizer="adam", lr=1e-3, **sizes)
    interrupt(settings, step=20)
    states = StateFolder(RunFolder.of(settings).state)
    state = states.read()
    assert state is not None
    plugins = state["strategy"]["plugins"]
    needed = [
        state["strategy"]["model"],
        state["strategy"]["optimizer"]["moments"],
        plugins["HistoryModelPlugin"],
        plugins["AveragedWeightsPlugin"],
        plugins["DiscriminatorPlugin"]["discriminator"],
        plugins["DiscriminatorPlugin"]["optimizer"]["moments"],
        plugins["BalancedReplayPlugin"]["memory"],
    ]
    size = sum(t.nbytes for part in needed for t in split(part)[1].values())
    assert size > 1_500_000
    assert states.size <= 1.1 * size


def test_the_second_process_leaves_the_folder_alone(begun: RunSettings) -> None:
    folder = RunFolder.of(begun)
    before = {file: file.stat().st_mtime_ns for file in folder.path.rglob("*")}
    with locked(folder.path):
        before[folder.path / ".lock"] = (folder.path / ".lock").stat().st_mtime_ns
        with pytest.raises(RunError, match="is using"):
            run(begun)
    after = {file: file.stat().st_mtime_ns for file in folder.path.rglob("*")}
    assert after == before


def test_settings_that_differ_are_refused_with_the_difference(
    begun: RunSettings,
) -> None:
    file = RunFolder.of(begun).path / "settings.yaml"
    written = file.read_text()
    file.write_text(written.replace("temperature: 1.0", "temperature: 2.5"))
    with pytest.raises(
        RunError, match=r"started with temperature=2.5, not temperature=1.0"
    ):
        run(begun)
    file.write_text(written)
    run(begun.model_copy(update=dict(save_every=5.0, device="cpu")))


@pytest.mark.parametrize(
    "foreign", [{}, {"record": 1}, {"strategy": {"clock": {"train_iterations": "x"}}}]
)
def test_a_state_of_something_else_is_refused(
    foreign: dict[str, Any], begun: RunSettings
) -> None:
    StateFolder(RunFolder.of(begun).state).write(foreign)
    with pytest.raises(RunError, match="does not fit the run") as error:
        run(begun)
    assert str(error.value).count("\n") == 1


def damages(whole: bytes) -> list[bytes]:
    middle = len(whole) // 2
    flipped = bytearray(whole)
    flipped[middle] ^= 0x10
    return [b"", whole[:middle], bytes(flipped)]


def test_damage_to_any_file_ends_in_an_error_or_the_last_good_state(
    begun: RunSettings, outcome: Outcome, whole: Any, tmp_path: Path
) -> None:
    folder = RunFolder.of(begun).path
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    files = [file.relative_to(kept) for file in kept.rglob("*") if file.is_file()]
    assert len(files) >= 9
    refused = set()
    for file in files:
        for damage in damages((kept / file).read_bytes()):
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            (folder / file).write_bytes(damage)
            said: list[str] = []
            try:
                run(begun, say=said.append)
            except RunError as error:
                assert str(error).count("\n") <= 1
                refused.add(file.name)
            else:
                assert outcome(begun) == whole, file
                assert "resuming after step" in said[0], file
    # What was measured is kept in metrics.jsonl alone.
    assert refused == {"settings.yaml", "metrics.jsonl"}


def test_damage_to_a_finished_run_is_noticed(tiny: Tiny, tmp_path: Path) -> None:
    settings = tiny("Fine-tune", tmp_path)
    result = run(settings)
    folder = RunFolder.of(settings)
    names = {file.name for file in folder.path.iterdir() if file.is_file()} - {".lock"}
    assert {"result.json", "model.safetensors", "metrics.jsonl", "done"} <= names
    for name in names:
        intact = (folder.path / name).read_bytes()
        # A mark without checksums is from a version that had none.
        for damage in damages(intact)[1 if name == "done" else 0 :]:
            (folder.path / name).write_bytes(damage)
            with pytest.raises(RunError, match=str(folder.path)):
                folder.check()
            if name == "result.json":
                with pytest.raises(RunError, match=r"result\.json"):
                    run(settings)
        (folder.path / name).write_bytes(intact)
    folder.check()
    assert run(settings) == result


def test_a_full_disk_is_named_and_nothing_is_lost(
    tiny: Tiny, outcome: Outcome, whole: Any, tmp_path: Path
) -> None:
    settings = tiny("UDIL", tmp_path)
    patch = pytest.MonkeyPatch()

    def fill(strategy: Any) -> None:
        def refuse(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(os, "fsync", refuse)

    filling = act("before_backward", 12, fill)
    with pytest.raises(RunError, match="No space left on device") as error:
        run(settings)
    assert "The one before is kept" in str(error.value)
    filling.undo()
    patch.undo()
    said: list[str] = []
    run(settings, say=said.append)
    assert "after step 11," in said[0]
    assert outcome(settings) == whole


def test_a_loss_that_is_not_finite_names_term_domain_and_step(
    tiny: Tiny, outcome: Outcome, whole: Any, tmp_path: Path
) -> None:
    settings = tiny("UDIL", tmp_path)

    def spoil(strategy: Any) -> None:
        bad = torch.tensor(float("nan"))
        strategy.loss += bad
        next(p for p in strategy.plugins if "V_l" in getattr(p, "terms", {})).terms = {
            "V_l": bad
        }

    patch = act("before_backward", 14, spoil)
    try:
        with pytest.raises(RunError, match=r"nan in step 6 of domain 2, due to V_l"):
            run(settings)
    finally:
        patch.undo()
    run(settings)
    assert outcome(settings) == whole


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("SI", {"c": 1e9, "lr": 1.0}),
        ("oEWC", {"ewc_lambda": 1e9, "lr": 1.0}),
        ("Fine-tune", {"lr": 1e30}),
    ],
)
def test_weights_that_run_away_are_never_saved(
    strategy: str, options: dict[str, float], tiny: Tiny, tmp_path: Path
) -> None:
    settings = tiny(strategy, tmp_path, optimizer="sgd", clip_norm=None, **options)
    for _ in range(2):
        with pytest.raises(RunError, match=r"domain [12]") as error:
            run(settings)
        assert str(error.value).count("\n") <= 1
        state = StateFolder(RunFolder.of(settings).state).read()
        if state is not None:
            for weights in state["strategy"]["model"].values():
                assert torch.isfinite(weights).all()


@pytest.mark.parametrize(
    "strategy", [name for name in METHODS if METHODS[name].has_memory]
)
def test_no_memory_and_batches_larger_than_the_data_work(
    strategy: str, tiny: Tiny, tmp_path: Path
) -> None:
    options = {"epochs": 1, "domains": 2, "train_per_domain": 20}
    settings = tiny(strategy, tmp_path, memory=0, batch_size=1000, **options)
    result = run(settings)
    assert result["steps"] == 2
    assert len(result["accuracy_matrix"]) == 2


@pytest.mark.parametrize("device", ["abacus", "cuda:77", "meta"])
def test_a_device_that_cannot_compute_is_refused(
    device: str, tiny: Tiny, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=f"device={device}"):
        run(tiny("ER", tmp_path, device=device))
    assert not list(tmp_path.rglob("settings.yaml"))


def test_a_domain_that_validation_leaves_empty_is_refused(
    tiny: Tiny, tmp_path: Path
) -> None:
    settings = tiny("ER", tmp_path, train_per_domain=1, validation=0.5)
    with pytest.raises(SettingsError, match="domain 1 are empty"):
        run(settings)


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A separate, small file system; only for users who may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=180k", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_is_really_full(
    small_disk: Path, tiny: Tiny, outcome: Outcome, whole: Any
) -> None:
    settings = tiny("UDIL", small_disk)
    with pytest.raises(RunError, match="No space left on device"):
        run(settings)
    states = StateFolder(RunFolder.of(settings).state)
    assert states.read() is not None
    larger = ["mount", "-o", "remount,size=50m", str(small_disk)]
    subprocess.run(larger, check=True)
    said: list[str] = []
    run(settings, say=said.append)
    assert "resuming after step" in said[0]
    assert outcome(settings) == whole

"""States of other runs are refused, whatever they are copied into."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from udil_avalanche.errors import RunError, RunStopped
from udil_avalanche.plugins import FiniteLossPlugin
from udil_avalanche.recipes import RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.checkpoint import StateFolder

Tiny = Callable[..., RunSettings]


def stop_at(settings: RunSettings, step: int) -> None:
    """Run until a signal comes in the given step."""

    class Stopping(FiniteLossPlugin):
        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            if strategy.clock.train_iterations + 1 == step:
                signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunStopped):
        patch.setattr(experiment, "FiniteLossPlugin", Stopping)
        run(settings)


def give_state(one: RunSettings, other: RunSettings) -> None:
    """Put the state of one run into the folder of the other."""
    path = RunFolder.of(other).state
    shutil.rmtree(path)
    shutil.copytree(RunFolder.of(one).state, path)


def without_origin(settings: RunSettings) -> None:
    """Make the states of a run what earlier versions saved."""
    folder = RunFolder.of(settings).state
    state = StateFolder(folder).read()
    assert state is not None
    del state["origin"]
    lines = RunFolder.of(settings).metrics.read_text().splitlines()
    record = state["record"]
    record["lines"] = [json.loads(line) for line in lines[: record.pop("n_lines")]]
    del record["lines_sha256"]
    shutil.rmtree(folder)
    StateFolder(folder).write(state)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lr": 6e-3}, "lr=0.003, not lr=0.006"),
        ({"seed": 7}, "seed=0, not seed=7"),
        ({"memory": 61}, "memory=60, not memory=61"),
        ({"epochs": 3}, "epochs=2, not epochs=3"),
        ({"domains": 4}, "domains=3, not domains=4"),
    ],
)
def test_the_state_of_other_settings_is_refused_by_name(
    change: dict[str, Any], named: str, tiny: Tiny, tmp_path: Path
) -> None:
    settings, other = tiny("ER", tmp_path), tiny("ER", tmp_path, **change)
    stop_at(settings, 13)
    stop_at(other, 13)
    give_state(settings, other)
    with pytest.raises(RunError, match=named) as error:
        run(other)
    assert str(RunFolder.of(other).state) in str(error.value)
    assert str(error.value).count("\n") == 1
    assert not RunFolder.of(other).is_done
    # Where a run takes place is no part of it.
    run(settings.model_copy(update=dict(threads=2, save_every=9.0)))


@pytest.fixture
def sensors(write_sensors: Callable[..., Path], tmp_path: Path) -> Any:
    write_sensors(tmp_path / "sensors", domains=2, size=120)
    options = {"data": str(tmp_path / "sensors"), "output": str(tmp_path / "runs")}
    small = {"epochs": 2, "hidden": 8, "threads": 1, "memory": 20, "save_every": 0}
    return resolve("ER", "arrays", options={**options, **small})


def test_the_state_of_other_data_is_refused(
    sensors: RunSettings, tmp_path: Path
) -> None:
    stop_at(sensors, 5)
    file = tmp_path / "sensors" / "day2.npz"
    stored = dict(np.load(file))
    np.savez(file, **{**stored, "x": stored["x"] * 1.5})
    with pytest.raises(RunError, match="the data have changed since"):
        run(sensors)
    np.savez(file, **stored)
    run(sensors)


def test_the_state_of_other_images_is_refused(
    write_tree: Callable[..., Path], write_image: Callable[..., Path], tmp_path: Path
) -> None:
    counts = {name: {"cat": 8, "dog": 8} for name in ("2021", "2022")}
    data = write_tree(tmp_path / "photos", counts)
    options = {"data": str(data), "output": str(tmp_path / "runs"), "memory": 4}
    small = {"network": "squeezenet1_1", "image_size": 32, "epochs": 1, "threads": 1}
    small |= {"save_every": 0, "batch_size": 4, "workers": 0}
    settings = resolve("ER", "folders", options={**options, **small})
    stop_at(settings, 2)
    renamed = data / "2022" / "cat" / "0.png"
    renamed.rename(renamed.with_name("0a.png"))
    with pytest.raises(RunError, match="the data have changed since"):
        run(settings)
    renamed.with_name("0a.png").rename(renamed)
    run(settings)


def test_a_state_of_an_earlier_version_is_used_with_a_warning(
    tiny: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = tiny("ER", tmp_path)
    stop_at(settings, 13)
    without_origin(settings)
    run(settings)
    assert "of an earlier version" in caplog.text


@pytest.mark.parametrize(
    ("change", "named"),
    [({"domains": 1}, "learned 2 domains, not 1"), ({"seed": 7}, "accuracies after")],
)
def test_a_state_of_an_earlier_version_that_surely_differs_is_refused(
    change: dict[str, Any], named: str, tiny: Tiny, tmp_path: Path
) -> None:
    settings, other = tiny("ER", tmp_path), tiny("ER", tmp_path, **change)
    stop_at(settings, 20)
    without_origin(settings)
    stop_at(other, 5 if "domains" in change else 20)
    give_state(settings, other)
    with pytest.raises(RunError, match=named):
        run(other)

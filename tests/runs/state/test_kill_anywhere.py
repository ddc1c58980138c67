"""A run may be killed between any two file operations: what is on the disk at that
moment is enough to end with the same result, bit for bit.

Python tells before every operation on a file. At each of them the run folder is copied,
which is what a kill would leave, and then every copy is resumed.
"""

import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import LOCK_FILE, RunFolder

Outcome = Callable[[RunSettings], Any]
OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


class Copies:
    """Copies of a folder, one for each state that it has been in."""

    def __init__(self, watched: Path, copies: Path) -> None:
        self.watched = watched
        self.copies = copies
        self.found: dict[str, Path] = {}
        self.is_on = False
        sys.addaudithook(self._hear)  # Cannot be removed, but is deaf when off.

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in OPERATIONS and arguments:
            place = str(arguments[0])
            if place.startswith(str(self.watched)) and "tensorboard" not in place:
                self._copy()

    def _copy(self) -> None:
        self.is_on = False
        digest = hashlib.sha256()
        for file in sorted(self.watched.rglob("*")):
            if "tensorboard" not in file.parts and file.name != LOCK_FILE:
                digest.update(str(file.relative_to(self.watched)).encode())
                if file.is_file():
                    digest.update(file.read_bytes())
        name = digest.hexdigest()
        if name not in self.found:
            self.found[name] = self.copies / f"{len(self.found):04d}"
            shutil.copytree(self.watched, self.found[name])
        self.is_on = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False


def check_every(settings: RunSettings, tmp_path: Path, outcome: Any, step: int) -> int:
    """Resume every ``step``-th copy; returns how many there are in all."""
    path = RunFolder.of(settings).path
    path.mkdir(parents=True)
    copies = Copies(path, tmp_path / "copies")
    with copies.listening():
        run(settings)
    whole = outcome(settings)
    for copy in list(copies.found.values())[::step]:
        other = settings.model_copy(update={"output": str(tmp_path / copy.name)})
        shutil.copytree(copy, RunFolder.of(other).path)
        run(other)
        assert outcome(other) == whole, copy
        left = [file.name for file in RunFolder.of(other).path.rglob("*.tmp")]
        assert left == []
        RunFolder.of(other).check()
        shutil.rmtree(tmp_path / copy.name)
    return len(copies.found)


def tiny(strategy: str, output: Path) -> RunSettings:
    data = {"domains": 2, "train_per_domain": 16, "test_per_domain": 8}
    model = {"dimensions": 4, "hidden": 4, "epochs": 1, "batch_size": 8, "threads": 1}
    options = {**data, **model, "save_every": 0, "output": str(output)}
    if METHODS[strategy].has_memory:
        options["memory"] = 4
    return resolve(strategy, "hd_balls", options=options, configs=None)


@pytest.mark.parametrize(("strategy", "step"), [("UDIL", 1), ("ER", 9), ("SI", 11)])
def test_a_kill_between_any_two_file_operations(
    strategy: str, step: int, tmp_path: Path, outcome: Outcome
) -> None:
    settings = tiny(strategy, tmp_path / "runs")
    assert check_every(settings, tmp_path, outcome, step) > 30


OTHERS = ("Fine-tune", "oEWC", "LwF", "GEM", "A-GEM", "DER++", "CLS-ER", "ESM-ER")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", OTHERS)
def test_a_kill_of_any_other_method(
    strategy: str, tmp_path: Path, outcome: Outcome
) -> None:
    settings = tiny(strategy, tmp_path / "runs")
    assert check_every(settings, tmp_path, outcome, 5) > 30


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "step"), [("ER", 13), ("UDIL", 1)])
def test_a_kill_of_a_run_with_workers(
    strategy: str,
    step: int,
    tmp_path: Path,
    write_tree: Callable[..., Path],
    outcome: Outcome,
) -> None:
    counts = {name: {"cat": 6, "dog": 6} for name in ("2021", "2022")}
    data = write_tree(tmp_path / "photos", counts)
    small = {"network": "squeezenet1_1", "image_size": 32, "epochs": 1, "threads": 1}
    options = {**small, "workers": 1, "batch_size": 4, "memory": 4, "save_every": 0}
    options |= {"data": str(data), "output": str(tmp_path / "runs")}
    settings = resolve(strategy, "folders", options=options, configs=None)
    assert check_every(settings, tmp_path, outcome, step) > 30

"""States on disk."""

import errno
import hashlib
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from udil_avalanche.errors import RunError
from udil_avalanche.runs.state.checkpoint import FORMAT, StateFolder
from udil_avalanche.runs.state.generators import generator_states, set_generator_states
from udil_avalanche.runs.state.tree import join, split


def state(number: int) -> dict[str, Any]:
    return {"number": number, "tensors": {"a": torch.full((50,), float(number))}}


def same(one: Any, other: Any) -> bool:
    """Whether two trees are the same, bit for bit."""
    plain, tensors = split(one)
    other_plain, other_tensors = split(other)
    return plain == other_plain and all(
        tensor.dtype == other_tensors[name].dtype
        and torch.equal(tensor, other_tensors[name])
        for name, tensor in tensors.items()
    )


@pytest.fixture
def states(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "state")


def files(states: StateFolder) -> list[Path]:
    return sorted(file for file in states.path.rglob("*") if file.is_file())


def test_a_state_comes_back_as_it_was(states: StateFolder) -> None:
    grid = torch.arange(12.0).view(3, 4)
    written = {
        "tensors": [grid, grid.T, grid[1], torch.tensor(3), torch.zeros(0, 2)],
        "types": {str(t): torch.ones(2, dtype=t) for t in (torch.bool, torch.uint8)},
        "bits": torch.tensor([0.1, -0.0, 1e-42, float("inf")]),
        "plain": [None, True, 0.1, 1e300, -3, "text", {"deep": [[]]}],
    }
    states.write(written)
    read = StateFolder(states.path).read()
    assert read is not None
    assert same(read, written)
    assert str(read["bits"][1].item()) == "-0.0"
    assert not read["tensors"][0].requires_grad


def test_a_tree_is_taken_apart_and_put_together() -> None:
    tree = {"a": [torch.ones(2), {"b": torch.zeros(())}], "c": "plain"}
    plain, tensors = split(tree)
    json.dumps(plain)
    assert sorted(tensors) == ["/a/0", "/a/1/b"]
    assert same(join(plain, tensors), tree)


@pytest.mark.parametrize(
    "tree", [{1: 2}, {"__tensor__": "x"}, {"a": {1, 2}}, {"a": torch.nn.ReLU()}]
)
def test_what_cannot_be_stored_is_refused(tree: Any) -> None:
    with pytest.raises(TypeError):
        split(tree)


def test_nothing_was_saved_yet(states: StateFolder) -> None:
    assert states.read() is None
    assert states.size == 0


def test_the_newest_of_two_is_read_and_no_more_are_kept(states: StateFolder) -> None:
    for number in range(12):
        states.write(state(number))
        assert len(list(states.path.iterdir())) == min(number + 1, 2)
    assert same(StateFolder(states.path).read(), state(11))
    assert states.size == sum(file.stat().st_size for file in files(states)[2:])


def test_any_truncation_or_flipped_bit_is_noticed(
    states: StateFolder, caplog: pytest.LogCaptureFixture
) -> None:
    states.write(state(1))
    states.write(state(2))
    newest = files(states)[2:]
    assert len(newest) == 2
    choice = random.Random(0)
    for file in newest:
        whole = file.read_bytes()
        damages = [b"", whole[:-1], whole[: len(whole) // 2], whole + b" x"]
        for _ in range(60):
            flipped = bytearray(whole)
            flipped[choice.randrange(len(whole))] ^= 1 << choice.randrange(8)
            damages.append(bytes(flipped))
        for damage in damages:
            file.write_bytes(damage)
            caplog.clear()
            assert same(StateFolder(states.path).read(), state(1))
            assert str(file.parent) in caplog.text
        file.write_bytes(whole)
        file.rename(file.with_suffix(".away"))
        assert same(StateFolder(states.path).read(), state(1))
        file.with_suffix(".away").rename(file)
    assert same(StateFolder(states.path).read(), state(2))


def test_the_last_good_state_outlives_a_damaged_one(states: StateFolder) -> None:
    states.write(state(1))
    states.write(state(2))
    files(states)[-1].write_bytes(b"")
    resumed = StateFolder(states.path)
    resumed.read()
    resumed.write(state(3))
    files(states)[-1].write_bytes(b"")
    assert same(StateFolder(states.path).read(), state(1))


def test_no_good_state_is_an_error_and_no_restart(states: StateFolder) -> None:
    states.write(state(1))
    states.write(state(2))
    for file in files(states):
        file.write_bytes(b"{}")
    with pytest.raises(RunError, match="no state is left") as error:
        StateFolder(states.path).read()
    assert str(error.value).count("\n") == 1


def test_another_format_is_refused_by_name(states: StateFolder) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("udil_avalanche.runs.state.checkpoint.FORMAT", FORMAT + 1)
        states.write(state(1))
    with pytest.raises(RunError, match=f"format {FORMAT + 1}.*reads format {FORMAT}"):
        StateFolder(states.path).read()


@pytest.mark.parametrize("call", ["fsync", "rename", "mkdir"])
def test_a_disk_that_refuses_leaves_the_state_before(
    call: str, states: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    states.write(state(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(RunError, match=r"No space left on device\nThe one before"):
            states.write(state(2))
    assert len(list(states.path.iterdir())) == 1
    assert same(StateFolder(states.path).read(), state(1))
    states.write(state(3))
    assert same(StateFolder(states.path).read(), state(3))


def test_what_a_kill_left_half_written_is_cleared_away(states: StateFolder) -> None:
    states.write(state(1))
    unfinished = states.path / ".000002.tmp"
    unfinished.mkdir()
    (unfinished / "tensors.safetensors").write_bytes(b"half")
    assert same(StateFolder(states.path).read(), state(1))
    assert not unfinished.exists()


class Trap:
    """Makes a folder as soon as it is unpickled."""

    def __init__(self, sprung: Path) -> None:
        self.sprung = sprung

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.sprung),)


def test_opening_a_state_runs_no_code(states: StateFolder, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    states.write(state(1))
    plain, tensors = files(states)
    torch.save(Trap(sprung), tensors)
    content = json.loads(plain.read_text())
    content["tensors_sha256"] = hashlib.sha256(tensors.read_bytes()).hexdigest()
    del content["sha256"]
    text = json.dumps(content, sort_keys=True)
    content["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    plain.write_text(json.dumps(content))
    with pytest.raises(RunError, match="does not hold a state"):
        StateFolder(states.path).read()
    assert not sprung.exists()
    torch.load(io.BytesIO(tensors.read_bytes()), weights_only=False)
    assert sprung.exists(), "or the test shows nothing"


def test_the_generators_go_on_where_they_were() -> None:
    def draws() -> list[Any]:
        random.gauss(0, 1)
        np.random.standard_normal()
        return [
            random.gauss(0, 1),
            random.random(),
            np.random.standard_normal(),
            np.random.rand(),
            torch.rand(3).tolist(),
            torch.randn(3).tolist(),
        ]

    draws()
    plain, tensors = split(generator_states())
    first = draws()
    assert draws() != first
    set_generator_states(join(json.loads(json.dumps(plain)), tensors))
    assert draws() == first


@pytest.mark.parametrize("name", ["state.json", "tensors.safetensors"])
def test_a_pipe_is_not_waited_for(name: str, states: StateFolder) -> None:
    states.write(state(1))
    (file,) = (file for file in files(states) if file.name == name)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(RunError, match="not a regular file"):
        StateFolder(states.path).read()

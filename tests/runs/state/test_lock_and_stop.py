import os
import signal
import threading
from pathlib import Path

import pytest

from udil_avalanche.errors import RunError
from udil_avalanche.runs.state import lock
from udil_avalanche.runs.state.lock import locked
from udil_avalanche.runs.state.stop import StopRequest


def test_a_folder_has_room_for_one(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    with locked(folder):
        with pytest.raises(RunError, match=f"process {os.getpid()} on .* is using"):
            locked(folder).__enter__()
        with locked(tmp_path / "other"):
            pass
    with locked(folder):
        pass


def test_a_lock_goes_with_the_process_that_holds_it(tmp_path: Path) -> None:
    ready, write = os.pipe()
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            os.write(write, b"!")
            signal.pause()
    os.read(ready, 1)
    with pytest.raises(RunError, match=f"process {child} "):
        locked(tmp_path).__enter__()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(tmp_path):
        pass


def test_a_lock_is_not_inherited(tmp_path: Path) -> None:
    """The processes that decode images outlive a training process that is killed."""
    ready, write = os.pipe()
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            grandchild = os.fork()
            if grandchild != 0:
                os.write(write, f"{grandchild}\n".encode())
            signal.pause()
    grandchild = int(os.read(ready, 20))
    try:
        with pytest.raises(RunError, match=f"process {child} "):
            locked(tmp_path).__enter__()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.kill(grandchild, 0)
        with locked(tmp_path):
            pass
    finally:
        os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_the_second_stops_at_once(number: int) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert stop.signal_number is None
        signal.raise_signal(number)
        assert stop.signal_number == number
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_another_thread_leaves_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.signal_number))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, None)]


def test_a_copy_of_the_process_may_have_closed_the_lock_file(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    lock._descriptors.append(descriptor)
    os.close(descriptor)  # the next file that is opened gets the same number
    lock._do_not_inherit()
    assert os.fstat(descriptor).st_rdev == os.stat(os.devnull).st_rdev
    os.close(descriptor)

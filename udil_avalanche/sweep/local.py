"""The engine for one machine: a process for each run, several at once."""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.sweep.engine import STOPPED, Event, Failed, Finished, Started
from udil_avalanche.sweep.worker import work

SECONDS_BETWEEN_LOOKS = 0.2
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What the libraries below torch and numpy read when they are loaded."""


def run_locally(
    runs: Sequence[RunSettings], *, workers: int, threads: int
) -> Iterator[Event]:
    """Do the runs, each in its own process.

    What a run prints goes to ``<run folder>.log``, which is removed when it succeeds.

    :param runs: what to run, in order.
    :param workers: how many at once.
    :param threads: how many threads each of them computes with.
    :raises RunStopped: after Ctrl-C or SIGTERM; the states are saved.
    """
    os.environ |= {variable: str(threads) for variable in THREAD_VARIABLES}
    context = _context()
    waiting = deque(runs)
    running: list[tuple[RunSettings, BaseProcess]] = []
    with StopRequest() as stop:
        try:
            while (waiting or running) and stop.signal_number is None:
                while waiting and len(running) < workers:
                    settings = waiting.popleft()
                    running.append((settings, _start(settings, context)))
                    yield Started(settings)
                time.sleep(SECONDS_BETWEEN_LOOKS)
                for settings, process in list(running):
                    if not process.is_alive():
                        running.remove((settings, process))
                        yield _outcome(settings, process)
            for _, process in running:
                process.terminate()
            for _, process in running:
                process.join()  # It saves its state first.
        except BaseException:
            for _, process in running:
                process.kill()
            raise
    stop.check(STOPPED)


def _context() -> Any:
    """How processes start. Loading torch and Avalanche takes many seconds: where it is
    possible, one process does it, and the others begin as copies of it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["udil_avalanche.sweep.preloaded"])
    return context


def _start(settings: RunSettings, context: Any) -> BaseProcess:
    messages = RunFolder.of(settings).messages
    messages.parent.mkdir(parents=True, exist_ok=True)
    # Not a daemon, which could not start processes that load images.
    process: BaseProcess = context.Process(
        target=work, args=(as_dict(settings), str(messages))
    )
    process.start()
    return process


def _outcome(settings: RunSettings, process: BaseProcess) -> Event:
    process.join()
    folder = RunFolder.of(settings)
    if folder.is_done:
        folder.messages.unlink(missing_ok=True)
        return Finished(settings)
    code = process.exitcode or 0
    if code < 0:
        reason = f"ended by {signal.Signals(-code).name}"
    else:
        reason = error_message(folder.messages) or f"exit code {code}"
    return Failed(settings, f"{reason} (see {folder.messages})")


def error_message(messages: Path) -> str:
    """Why a run ended, in one line: what stands after the last traceback's frames, or
    the last line if there is no traceback.

    :param messages: what the run printed.
    """
    text = messages.read_text(errors="replace") if messages.exists() else ""
    _, traceback, frames_and_message = text.rpartition("Traceback (most recent call")
    if not traceback:
        return text.strip().rpartition("\n")[2].strip()
    message: list[str] = []
    for line in frames_and_message.splitlines():
        # Frames are indented, messages are not.
        message = [] if line.startswith(" ") else [*message, line.strip()]
    return " ".join(filter(None, message))

"""The engine of one machine: a process for each run, as many at once as it has room
for."""

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from udil_avalanche.errors import RunStopped
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.settings import RunSettings, as_dict
from udil_avalanche.sweep.events import Event, Failed, Finished, Started
from udil_avalanche.sweep.worker import work

SECONDS_BETWEEN_LOOKS = 0.2
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""What the libraries below torch and numpy read when they are loaded."""


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_of(run: RunSettings) -> int:
    """The cores that a run keeps busy: its threads, and the processes that load its
    images.

    :param run: its settings; the threads must be set.
    """
    assert run.threads is not None
    return run.threads + int(getattr(run, "workers", 0))


def run_locally(
    runs: Sequence[RunSettings], *, workers: int, threads: int
) -> Iterator[Event]:
    """Do the runs, each in a process of its own.

    What a run prints goes to ``<run folder>.log``, which is removed when it succeeds.

    :param runs: what to run, in order.
    :param workers: how many at once.
    :param threads: the threads that each of them computes with.
    :raises RunStopped: if Ctrl-C or SIGTERM has asked for it; the states are saved.
    """
    os.environ |= {variable: str(threads) for variable in THREAD_VARIABLES}
    # Loading torch and Avalanche takes many seconds: one process does it for all the
    # others, which begin as copies of it.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["udil_avalanche.sweep.preloaded"])
    waiting = deque(runs)
    running: list[tuple[RunSettings, BaseProcess]] = []
    with StopRequest() as stop:
        try:
            while (waiting or running) and stop.signal_number is None:
                while waiting and len(running) < workers:
                    settings = waiting.popleft()
                    log = log_of(settings)
                    log.parent.mkdir(parents=True, exist_ok=True)
                    # Not a daemon, which might not start processes that load images.
                    process = processes.Process(
                        target=work, args=(as_dict(settings), str(log))
                    )
                    process.start()
                    running.append((settings, process))
                    yield Started(settings)
                time.sleep(SECONDS_BETWEEN_LOOKS)
                for entry in list(running):
                    settings, child = entry
                    if not child.is_alive():
                        running.remove(entry)
                        yield _outcome(settings, child)
            _let_save([child for _, child in running])
        except BaseException:
            for _, child in running:
                child.kill()
            raise
    if stop.signal_number is not None:
        raise sweep_stopped(len(running), stop.signal_number)


def _let_save(children: Sequence[BaseProcess]) -> None:
    """Ask the runs to stop, and wait until they have saved their states."""
    for child in children:
        child.terminate()
    for child in children:
        child.join()


def sweep_stopped(running: int, signal_number: int) -> RunStopped:
    """What a sweep ends with when it was asked to stop.

    :param running: how many of its runs were at work.
    :param signal_number: what has asked.
    """
    return RunStopped(
        f"stopped; {running} runs were asked to save their states first, and the same "
        "command goes on from there",
        signal_number,
    )


def log_of(settings: RunSettings) -> Path:
    """Where a run's messages go.

    :param settings: its settings.
    """
    folder = RunFolder.of(settings).path
    return folder.with_name(f"{folder.name}.log")


def _outcome(settings: RunSettings, child: BaseProcess) -> Event:
    child.join()
    log = log_of(settings)
    if RunFolder.of(settings).is_done:
        log.unlink(missing_ok=True)
        return Finished(settings)
    code = child.exitcode or 0
    said = log.read_text(errors="replace").splitlines() if log.exists() else []
    last = [line.strip() for line in said if line.strip()][-1:]
    if code < 0:
        reason = f"ended by {signal.Signals(-code).name}"
    else:
        reason = last[0] if last else f"exit code {code}"
    return Failed(settings, f"{reason} (see {log})")


__all__ = ["cores", "cores_of", "log_of", "run_locally", "sweep_stopped"]

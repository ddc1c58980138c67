"""The engine of a Ray cluster: a task for each run."""

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.settings import RunSettings, as_dict
from udil_avalanche.sweep.events import Event, Failed, Finished, Started
from udil_avalanche.sweep.local import cores, log_of, sweep_stopped
from udil_avalanche.sweep.ray_worker import Begun, WorkerStopped, work
from udil_avalanche.sweep.room import look_for_room

RETRIES = 3
"""How often a run is taken up again whose worker was lost."""

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_SAVE = 60


def run_on_ray(
    runs: Sequence[RunSettings],
    *,
    address: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
) -> Iterator[Event]:
    """Do the runs as tasks of a Ray cluster.

    All nodes have to see the same files at the same place. When a node is lost, its
    runs are taken up again on others.

    :param runs: what to run.
    :param address: a cluster that is running; by default one is started on this
        machine, for this process alone.
    :param cpus: what a run takes of the cluster's processors.
    :param gpus: what it takes of the cluster's graphics processors.
    :raises RunStopped: if Ctrl-C or SIGTERM has asked for it; the runs were asked to
        save their states.
    :raises SettingsError: if Ray is not installed, if there is no such cluster, or if
        a run takes more than this machine has.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is not None:
        _check(address)
    if address is not None and address.startswith(("127.", "localhost:")):
        # Or Ray puts the machine's address on the network in the place of this one.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    except ImportError:
        raise SettingsError(
            "Ray is not installed: pip install 'udil_avalanche[ray]'"
        ) from None
    where = (
        {
            "address": "local",
            "num_cpus": cores(),
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
        if address is None
        else {"address": address}
    )
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (RuntimeError, ConnectionError) as error:
        if address is None:
            raise
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"cannot join the Ray cluster at {address}, of which this machine has to "
            f"be a node: {reason}"
        ) from error
    try:
        look_for_room(ray.nodes(), cpus, gpus, may_grow=address is not None)
        here = NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # Dictionaries, as Ray's types know neither such a place nor such exceptions.
        of_the_actor: dict[str, Any] = {"num_cpus": 0, "scheduling_strategy": here}
        begun: Any = ray.remote(**of_the_actor)(Begun).remote()
        of_a_run: dict[str, Any] = {
            "num_cpus": cpus,
            "num_gpus": gpus,
            # A process for each, as on one machine: its peak memory is the run's own.
            "max_calls": 1,
            "max_retries": RETRIES,
            "retry_exceptions": [WorkerStopped],
        }
        task_of = ray.remote(**of_a_run)(work)
        with StopRequest() as stop:
            tasks = {
                task_of.remote(as_dict(settings), os.getcwd(), number, begun): number
                for number, settings in enumerate(runs)
            }
            running: set[int] = set()
            while tasks and stop.signal_number is None:
                done, _ = ray.wait(list(tasks), timeout=SECONDS_BETWEEN_LOOKS)
                for number in ray.get(begun.take.remote()):
                    # The note of a run that failed at once may come after its end.
                    if number in tasks.values():
                        running.add(number)
                        yield Started(runs[number])
                for task in done:
                    number = tasks.pop(task)
                    running.discard(number)
                    yield _outcome(runs[number], task)
            if stop.signal_number is not None:
                _let_save(list(tasks))
                raise sweep_stopped(len(running), stop.signal_number)
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Refuse an address where nobody answers, which Ray takes ten minutes to do."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"there is no Ray cluster at {address} ({error}): write HOST:PORT"
        ) from None


def _let_save(tasks: list[Any]) -> None:
    """Stop tasks, and wait until those that run have saved their states."""
    import ray

    for task in tasks:
        ray.cancel(task)
    _, silent = ray.wait(tasks, num_returns=len(tasks), timeout=SECONDS_TO_SAVE)
    if silent:
        warnings.warn(f"{len(silent)} runs did not answer", stacklevel=2)


def _outcome(settings: RunSettings, task: Any) -> Event:
    import ray

    log, folder = log_of(settings), RunFolder.of(settings)
    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(str(error))
        reason = " ".join(f"{type(error.cause).__name__}: {error.cause}".split())
        return Failed(settings, f"{reason} (see {log})")
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        return Failed(settings, f"its worker was lost: {reason}")
    if not folder.is_done:
        where = f"{folder.path} does not say so here: do all nodes see the same files?"
        return Failed(settings, f"it is done, but {where}")
    log.unlink(missing_ok=True)
    return Finished(settings)


__all__ = ["RETRIES", "run_on_ray"]

"""The engine for a Ray cluster: a task for each run."""

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from udil_avalanche.recipes import RunSettings, as_dict
from udil_avalanche.runs.run_folder import RunFolder
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.sweep.engine import STOPPED, Event, Failed, Finished, Started
from udil_avalanche.sweep.ray_cluster import ray_cluster, require_answer
from udil_avalanche.sweep.ray_worker import Begun, WorkerStopped, work

RETRIES = 3
"""How often a run is started again when its worker was lost."""

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

    All nodes have to see the same files under the same paths. When a node is lost, its
    runs continue on others.

    :param runs: what to run.
    :param address: a cluster that is running; by default one is started on this
        machine, for this process alone.
    :param cpus: how many processors a run needs.
    :param gpus: how many graphics processors a run needs.
    :raises RunStopped: after Ctrl-C or SIGTERM; the runs were asked to save their
        states.
    :raises SettingsError: if Ray is not installed, if there is no such cluster, or if
        a run needs more than this machine has.
    :raises RunError: if the cluster is lost.
    """
    with ray_cluster(address, cpus, gpus) as ray:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        begun = ray.remote(num_cpus=0, scheduling_strategy=here)(Begun).remote()
        task_of = ray.remote(
            num_cpus=cpus,
            num_gpus=gpus,
            # A process for each, so that its peak memory is that of the run alone.
            max_calls=1,
            max_retries=RETRIES,
            retry_exceptions=[WorkerStopped],
        )(work)
        with StopRequest() as stop:
            tasks = {
                task_of.remote(as_dict(settings), os.getcwd(), number, begun): number
                for number, settings in enumerate(runs)
            }
            while tasks and stop.signal_number is None:
                if address is not None:
                    require_answer(address)
                done, _ = ray.wait(list(tasks), timeout=SECONDS_BETWEEN_LOOKS)
                for number in ray.get(begun.take.remote()):
                    # A run that failed at once may be reported as begun after its end.
                    if number in tasks.values():
                        yield Started(runs[number])
                for task in done:
                    yield _outcome(ray, runs[tasks.pop(task)], task)
            if tasks:
                _let_save(ray, list(tasks))
        stop.check(STOPPED)


def _let_save(ray: Any, tasks: list[Any]) -> None:
    """Stop the tasks, and wait until those that run have saved their states."""
    for task in tasks:
        ray.cancel(task)
    _, silent = ray.wait(tasks, num_returns=len(tasks), timeout=SECONDS_TO_SAVE)
    if silent:
        warnings.warn(f"{len(silent)} runs did not answer", stacklevel=2)


def _outcome(ray: Any, settings: RunSettings, task: Any) -> Event:
    folder = RunFolder.of(settings)
    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        folder.messages.parent.mkdir(parents=True, exist_ok=True)
        folder.messages.write_text(str(error))
        reason = " ".join(f"{type(error.cause).__name__}: {error.cause}".split())
        return Failed(settings, f"{reason} (see {folder.messages})")
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        return Failed(settings, f"its worker was lost: {reason}")
    if not folder.is_done:
        return Failed(
            settings,
            f"it has finished, but {folder.path} is not done here: do all nodes see "
            "the same files?",
        )
    folder.messages.unlink(missing_ok=True)
    return Finished(settings)

"""Joining a Ray cluster that has room for the runs."""

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from udil_avalanche.errors import RunError, SettingsError
from udil_avalanche.sweep.engine import cores


@contextmanager
def ray_cluster(address: str | None, cpus: float, gpus: float) -> Iterator[Any]:
    """Join a cluster, and leave it at the end.

    :param address: a cluster that is running; None to start one on this machine.
    :param cpus: how many processors a run needs.
    :param gpus: how many graphics processors a run needs.
    :return: the module ``ray``.
    :raises SettingsError: if Ray is not installed, if there is no such cluster, or if
        a run needs more than this machine has.
    :raises RunError: if the cluster is lost.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is not None:
        _check_address(address)
        if address.startswith(("127.", "localhost:")):
            # Otherwise Ray replaces this address by the machine's on the network.
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ImportError:
        raise SettingsError(
            "Ray is not installed: pip install 'udil_avalanche[ray]'"
        ) from None
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {
            "address": "local",
            "num_cpus": cores(),
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (RuntimeError, ConnectionError) as error:
        if address is None:
            raise
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"cannot join the Ray cluster at {address}; this machine has to be one of "
            f"its nodes: {reason}"
        ) from error
    try:
        nodes: Any = ray.nodes  # Ray gives it no type.
        check_room(nodes(), cpus, gpus, may_grow=address is not None)
        yield ray
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise cluster_lost(reason) from error
    finally:
        ray.shutdown()


def cluster_lost(reason: str) -> RunError:
    """What to say when the cluster is gone.

    :param reason: how that was noticed.
    """
    return RunError(
        f"the Ray cluster was lost: {reason}\nThe runs have saved their states: start "
        "the same command again when the cluster is back, or without --engine=ray"
    )


def require_answer(address: str) -> None:
    """Notice that the cluster's head is gone: a minute later Ray would end this process
    without a word of ours.

    :param address: of the cluster.
    :raises RunError: if nothing answers there.
    """
    try:
        _check_address(address)
    except SettingsError as error:
        raise cluster_lost(str(error).partition(":")[0]) from None


def check_room(
    nodes: Sequence[Mapping[str, Any]], cpus: float, gpus: float, *, may_grow: bool
) -> None:
    """Complain if no node is large enough for a run: Ray would wait silently.

    :param nodes: the nodes, as returned by ``ray.nodes()``.
    :param cpus: how many processors a run needs.
    :param gpus: how many graphics processors a run needs.
    :param may_grow: whether nodes may still join; then it is only a warning.
    :raises SettingsError: if the cluster cannot grow.
    """
    sizes = [
        (node["Resources"].get("CPU", 0), node["Resources"].get("GPU", 0))
        for node in nodes
        if node["Alive"]
    ]
    if any(has_cpus >= cpus and has_gpus >= gpus for has_cpus, has_gpus in sizes):
        return
    available = "; ".join(_in_words(*size) for size in sizes)
    missing = f"no node has the {_in_words(cpus, gpus)} that a run needs ({available})"
    if not may_grow:
        raise SettingsError(f"{missing}: see --cpus and --gpus")
    waiting = "waiting for one that has; see --cpus and --gpus"
    warnings.warn(f"{missing}: {waiting}", stacklevel=2)


def _in_words(cpus: float, gpus: float) -> str:
    return f"{cpus:g} CPUs and {gpus:g} GPUs"


def _check_address(address: str) -> None:
    """Refuse an address where nothing answers: Ray would take ten minutes to notice."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"there is no Ray cluster at {address} ({error}): write HOST:PORT"
        ) from None

"""Whether a Ray cluster has room for a run."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from udil_avalanche.errors import SettingsError


def look_for_room(
    nodes: Sequence[Mapping[str, Any]], cpus: float, gpus: float, *, may_grow: bool
) -> None:
    """Say so if no node is large enough for a run: Ray would wait for one in silence.

    :param nodes: the nodes as ``ray.nodes()`` has them.
    :param cpus: what a run takes of a node's processors.
    :param gpus: what it takes of its graphics processors.
    :param may_grow: whether nodes may still come; then it is but a warning.
    :raises SettingsError: if it cannot grow.
    """
    sizes = [
        (node["Resources"].get("CPU", 0), node["Resources"].get("GPU", 0))
        for node in nodes
        if node["Alive"]
    ]
    if any(has_cpus >= cpus and has_gpus >= gpus for has_cpus, has_gpus in sizes):
        return
    there = "; ".join(_in_words(*size) for size in sizes)
    missing = f"no node has the {_in_words(cpus, gpus)} that a run takes ({there})"
    if not may_grow:
        raise SettingsError(f"{missing}: see --cpus and --gpus")
    waiting = "waiting for one that has; see --cpus and --gpus"
    warnings.warn(f"{missing}: {waiting}", stacklevel=2)


def _in_words(cpus: float, gpus: float) -> str:
    return f"{cpus:g} CPUs and {gpus:g} GPUs"


__all__ = ["look_for_room"]

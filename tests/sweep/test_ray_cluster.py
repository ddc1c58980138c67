"""Whether a Ray cluster has room for a run."""

import warnings
from typing import Any

import pytest

from udil_avalanche.errors import SettingsError
from udil_avalanche.sweep.ray_cluster import check_room


def node(alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"Alive": alive, "Resources": resources}


def test_one_node_that_is_large_enough_is_room() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_room([node(CPU=1), node(CPU=4, GPU=1)], 4, 1, may_grow=False)
        check_room([node(CPU=1)], 0.5, 0, may_grow=True)


@pytest.mark.parametrize(
    "nodes",
    [
        [node(CPU=8), node(CPU=1, GPU=1)],
        [node(CPU=1), node(alive=False, CPU=8, GPU=8)],
    ],
)
def test_two_nodes_together_or_one_that_is_gone_are_not(
    nodes: list[dict[str, Any]],
) -> None:
    with pytest.raises(SettingsError, match="no node has the 2 CPUs and 1 GPUs"):
        check_room(nodes, 2, 1, may_grow=False)


def test_a_cluster_that_may_grow_is_waited_for() -> None:
    with pytest.warns(UserWarning, match="waiting for one that has"):
        check_room([node(CPU=2)], 1, 1, may_grow=True)

"""The state of an optimizer as a tree of tensors and plain values."""

from typing import Any

from torch.optim import Optimizer


def optimizer_state(optimizer: Optimizer) -> dict[str, Any]:
    """The state that an optimizer needs to continue.

    :param optimizer: the optimizer.
    :return: the moments of each parameter, by its number, and the settings of each
        group, the learning rate among them.
    """
    state = optimizer.state_dict()
    return {
        "moments": {str(number): held for number, held in state["state"].items()},
        "groups": [
            {key: value for key, value in group.items() if key != "params"}
            for group in state["param_groups"]
        ],
    }


def load_optimizer_state(optimizer: Optimizer, state: dict[str, Any]) -> None:
    """Let an optimizer continue from what :func:`optimizer_state` returned.

    :param optimizer: an optimizer of the same parameters.
    :param state: the state.
    """
    own_groups = optimizer.state_dict()["param_groups"]
    groups = [
        own | stored for own, stored in zip(own_groups, state["groups"], strict=True)
    ]
    moments = {int(number): held for number, held in state["moments"].items()}
    optimizer.load_state_dict({"state": moments, "param_groups": groups})

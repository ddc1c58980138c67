"""More outputs for classes that a model did not know."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from udil_avalanche.learner.architecture import network
from udil_avalanche.learner.predictor import Predictor
from udil_avalanche.learner.version import Version
from udil_avalanche.models.heads import ClosedFormHead

IMPORTANCES = ("fisher", "importance", "path_integral")
"""What EWC and SI keep for every weight: 0 for new ones, which nothing depends on."""


def grown(version: Version, classes: Sequence[str]) -> Version:
    """A version with outputs for further classes. The old outputs stay as they are, for
    every input.

    The new outputs begin as a constant, the lowest logit that the model gives to any
    stored sample, so that none of these is taken for a new class. All copies of the
    model and all stored logits get the same constant: as if the model had always had
    these outputs.

    :param version: the version, which is not changed.
    :param classes: the names of all classes, those that it has first.
    """
    known = version.record.classes
    if list(classes[: len(known)]) != known:
        raise ValueError("The classes that the model has must come first.")
    n_new = len(classes) - len(known)
    if n_new == 0:
        return version
    grow = _Growth(version, n_new, _lowest_logit(version))
    return replace(
        version,
        record=replace(version.record, classes=list(classes)),
        weights=grow.weights(version.weights),
        state={
            **version.state,
            "model": grow.weights(version.state["model"]),
            "optimizer": grow.optimizer(version.state["optimizer"]),
            "plugins": {
                name: grow.plugin(state)
                for name, state in version.state["plugins"].items()
            },
        },
    )


def _lowest_logit(version: Version) -> float:
    stored = [reserve.inputs for reserve in version.reserves.values()]
    for state in version.state["plugins"].values():
        stored += state.get("memory", {}).get("fields", [])[:1]
    predictor = Predictor.of(version)
    lowest = [predictor.logits(x).min().item() for x in stored if len(x)]
    return min(lowest, default=-10.0)


class _Growth:
    """Adds rows to what has one for each class.

    :param version: the version as it is.
    :param n_new: number of new classes.
    :param constant: the logit of every new class.
    """

    def __init__(self, version: Version, n_new: int, constant: float) -> None:
        self.n_old = len(version.record.classes)
        self.n_new = n_new
        self.constant = constant
        self.head = list(version.weights)[-1].rpartition(".")[0]
        """The name of the last layer."""
        names = [
            n for n, _ in network(version.record, version.weights).named_parameters()
        ]
        self.positions = {
            str(names.index(f"{self.head}.{kind}")) for kind in ("weight", "bias")
        }

    def weights(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """The weights of a copy of the model, or of the part of it that is there."""
        fills = {f"{self.head}.weight": 0.0, f"{self.head}.bias": self.constant}
        # A classifier in closed form has seen no samples of the new classes.
        fills |= {f"predictor.{name}": 0.0 for name in ClosedFormHead.SUMS}
        return {
            name: self._rows(tensor, fills[name]) if name in fills else tensor
            for name, tensor in weights.items()
        }

    def optimizer(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state of the model's optimizer."""
        moments = {
            number: {
                name: self._rows(value, 0.0)
                if number in self.positions and _has_rows(value, self.n_old)
                else value
                for name, value in held.items()
            }
            for number, held in state["moments"].items()
        }
        return {**state, "moments": moments}

    def plugin(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state of a plugin: copies of the model, importances, stored logits."""
        if "memory" in state:
            fields = state["memory"]["fields"]
            grown = [*fields[:2], *(self._logits(field) for field in fields[2:])]
            return {**state, "memory": {**state["memory"], "fields": grown}}
        if "discriminator" in state:
            # It sees the classes, and starts again with the next domain.
            return {**state, "discriminator": None, "optimizer": None}
        return {key: self._any(key, value) for key, value in state.items()}

    def _any(self, key: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if f"{self.head}.weight" not in value:
            return {name: self._any(name, each) for name, each in value.items()}
        if key not in IMPORTANCES:
            return self.weights(value)
        heads = (f"{self.head}.weight", f"{self.head}.bias")
        return {
            name: self._rows(each, 0.0) if name in heads else each
            for name, each in value.items()
        }

    def _logits(self, field: Tensor) -> Tensor:
        if not field.is_floating_point() or field.shape[-1] != self.n_old:
            return field
        constant = field.new_full((*field.shape[:-1], self.n_new), self.constant)
        return torch.cat([field, constant], dim=-1)

    def _rows(self, tensor: Tensor, fill: float) -> Tensor:
        added = tensor.new_full((self.n_new, *tensor.shape[1:]), fill)
        return torch.cat([tensor, added])


def _has_rows(value: Any, n: int) -> bool:
    return isinstance(value, Tensor) and value.dim() > 0 and len(value) == n

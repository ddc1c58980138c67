"""Copies of a model that do not learn, and forward passes as Avalanche runs them."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from torch import Tensor, nn


def forward(model: nn.Module, x: Tensor, task_labels: Tensor | int | None) -> Tensor:
    """The logits of a model, which gets the task labels only if it uses them.

    :param model: the model.
    :param x: inputs.
    :param task_labels: their task labels, or the one that all of them have.
    """
    logits: Tensor = avalanche_forward(model, x, task_labels)
    return logits


def frozen_copy(model: nn.Module) -> nn.Module:
    """A copy in evaluation mode whose parameters need no gradients.

    :param model: the model.
    """
    return copy.deepcopy(model).eval().requires_grad_(False)


class FrozenModel:
    """Holds a frozen copy of a model, once there is one."""

    model: nn.Module | None = None
    """The copy; ``None`` at first."""

    def __call__(self, x: Tensor, task_labels: Tensor | None = None) -> Tensor:
        """The logits of the copy.

        :param x: inputs.
        :param task_labels: their task labels, for models that need them.
        """
        if self.model is None:
            raise RuntimeError(f"{type(self).__name__} has no copy of the model yet.")
        with torch.no_grad():
            return forward(self.model, x, task_labels)

    def weights(self) -> dict[str, Any] | None:
        """The copy's weights and buffers; ``None`` without a copy."""
        return None if self.model is None else self.model.state_dict()

    def load_weights(self, weights: dict[str, Any] | None, model: nn.Module) -> None:
        """Restore what :meth:`weights` returned.

        :param weights: the weights and buffers, or ``None``.
        :param model: a model of the same architecture.
        """
        self.model = None
        if weights is not None:
            self.model = frozen_copy(model)
            self.model.load_state_dict(weights)

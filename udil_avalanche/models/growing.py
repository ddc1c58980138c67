"""Tensors of models that grow: parameters and outputs for further classes."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def aligned(values: Tensor, like: Tensor) -> Tensor:
    """Values for a parameter that may have grown since they were made.

    :param values: one for each weight that the parameter had.
    :param like: the values of new weights; has the shape of the parameter as it is.
    :return: ``values`` themselves if the shape is the same.
    """
    if values.shape == like.shape:
        return values
    common = tuple(
        slice(min(sizes)) for sizes in zip(values.shape, like.shape, strict=True)
    )
    grown = like.clone()
    grown[common] = values[common]
    return grown


def widened(outputs: Tensor, n_classes: int, fill: float = -math.inf) -> Tensor:
    """Outputs for at least so many classes.

    :param outputs: one for each class that a model knew, in the last dimension.
    :param n_classes: number of classes now.
    :param fill: the output for a class that it did not know; minus infinity, as a
        logit, gives it a probability of 0.
    """
    missing = n_classes - outputs.shape[-1]
    return F.pad(outputs, (0, missing), value=fill) if missing > 0 else outputs


def mask_values(model: nn.Module) -> set[float]:
    """What a model gives for classes that it has not met yet; Avalanche's
    ``IncrementalClassifier`` has -1000 there.

    :param model: the model.
    """
    modules: list[Any] = list(model.modules())
    masking = (each for each in modules if getattr(each, "masking", False))
    return {float(each.mask_value) for each in masking}


def known_outputs(model: nn.Module, outputs: Tensor) -> Tensor:
    """Outputs with NaN for the classes that a model has not met yet.

    :param model: the model.
    :param outputs: its outputs.
    """
    for value in mask_values(model):
        outputs = outputs.masked_fill(outputs == value, torch.nan)
    return outputs

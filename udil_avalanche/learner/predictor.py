"""Predicting with a version of a model. Does not load Avalanche."""

import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from udil_avalanche.errors import ModelError
from udil_avalanche.learner.architecture import (
    RawInput,
    as_numbers,
    frozen_backbone,
    network,
)
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.version import Version, VersionRecord
from udil_avalanche.recipes.types import Backbone

BATCH_SIZE = 512
BATCH_VALUES = 2**23
"""Large inputs go through the network in smaller batches, of at most this many
values."""


class Predictor:
    """The model of a version, ready to predict.

    With a frozen backbone, the model takes the features that the backbone makes of
    images: :meth:`inputs` does that. All other methods take what it returns.

    :param record: what there is to know about the version.
    :param weights: its weights.
    :param device: where to compute.
    :param read_backbone: returns the weights of its frozen backbone.
    """

    def __init__(
        self,
        record: VersionRecord,
        weights: dict[str, Tensor],
        device: str = "cpu",
        read_backbone: Callable[[], dict[str, Tensor]] = dict,
    ) -> None:
        self.record = record
        self.device = torch.device(device)
        self.model = RawInput(network(record, weights)).to(self.device).eval()
        """Takes what it has learned from, as it is stored, and returns class logits."""
        self._read_backbone = read_backbone

    @classmethod
    def load(
        cls, path: str | Path, number: int | None = None, device: str = "cpu"
    ) -> "Predictor":
        """The model in a folder.

        :param path: the model's folder.
        :param number: the version; the current one by default.
        :param device: where to compute.
        """
        folder = ModelFolder(path)
        number = folder.current if number is None else number
        read_backbone = partial(folder.backbone, number)
        return cls(folder.record(number), folder.weights(number), device, read_backbone)

    @classmethod
    def of(cls, version: Version, device: str = "cpu") -> "Predictor":
        """The model of a version in memory.

        :param version: the version.
        :param device: where to compute.
        """
        read_backbone = partial(getattr, version, "backbone")
        return cls(version.record, version.weights, device, read_backbone)

    @cached_property
    def backbone(self) -> Backbone | None:
        """Maps images to the features that the model has learned from; ``None`` if it
        has learned from the inputs themselves."""
        if self.record.features is None:
            return None
        return frozen_backbone(self.record, self._read_backbone()).to(self.device)

    @property
    def whole(self) -> nn.Module:
        """Takes inputs as users give them, and returns class logits."""
        if self.backbone is None:
            return self.model
        return nn.Sequential(self.backbone, self.model).eval()

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return self.record.classes

    @property
    def batch_size(self) -> int:
        """How many inputs go through the network at once."""
        values = math.prod(self.record.input_shape)
        return max(1, min(BATCH_SIZE, BATCH_VALUES // max(1, values)))

    def logits(self, inputs: Tensor) -> Tensor:
        """The class logits of inputs.

        :param inputs: one per row, as :meth:`inputs` makes them.
        """
        return self._in_batches(inputs, self.model)

    def probabilities(self, inputs: Tensor) -> Tensor:
        """The probability of each class, one row for each input.

        :param inputs: one per row, as :meth:`inputs` makes them.
        """
        return self.logits(inputs).softmax(dim=1)

    def embeddings(self, inputs: Tensor) -> Tensor:
        """The embeddings of inputs, a vector each.

        :param inputs: one per row, as :meth:`inputs` makes them.
        """
        encoder = self.model.body.encoder
        return self._in_batches(
            inputs, lambda x: encoder(as_numbers(x)).flatten(start_dim=1)
        )

    def inputs(self, values: Any, where: str = "x") -> Tensor:
        """What the model has learned from, of inputs: they themselves, or the features
        that its frozen backbone makes of them.

        :param values: an array or a tensor of numbers, one input per row; or features.
        :param where: what they are, for messages.
        :raises ModelError: if they do not fit.
        """
        found: NDArray[Any] = np.asarray(values)
        are_features = self._are_features(found)
        if not are_features:
            self.check_fits(found.shape, found.dtype, where)
        is_8_bit = found.dtype == np.uint8
        with np.errstate(over="ignore"):
            wanted = np.uint8 if is_8_bit else np.float32
            fitting = np.ascontiguousarray(found.astype(wanted, copy=False))
        if not is_8_bit and not np.isfinite(fitting).all():
            row = int(np.argwhere(~np.isfinite(fitting))[0][0])
            raise ModelError(
                f"{where}: row {row} holds a number that is not finite in 32 bits"
            )
        tensor = torch.from_numpy(fitting)
        if are_features or self.backbone is None:
            return tensor
        return self._in_batches(tensor, self.backbone)

    def _are_features(self, values: NDArray[Any]) -> bool:
        width = self.record.features
        return values.dtype == np.float32 and values.shape[1:] == (width,)

    def check_fits(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], where: str = "x"
    ) -> None:
        """Refuse an array of another type or shape than the model takes.

        :param shape: the array's shape, one input per row.
        :param dtype: its type.
        :param where: what it is, for messages.
        :raises ModelError: if it does not fit.
        """
        if dtype.kind not in "biuf":
            raise ModelError(f"{where} holds {dtype}, not real numbers")
        wanted = tuple(self.record.input_shape)
        if shape[1:] != wanted:
            raise ModelError(
                f"{where} has the shape {shape}, but the model takes one row of shape "
                f"{wanted} for each input"
            )
        if (dtype == np.uint8) != (self.record.input_type == "uint8"):
            raise ModelError(
                f"{where} is {dtype}, but the model has learned from "
                f"{self.record.input_type}"
            )

    @torch.inference_mode()
    def _in_batches(
        self, inputs: Tensor, function: Callable[[Tensor], Tensor]
    ) -> Tensor:
        outputs = [
            function(batch.to(self.device)).cpu() for batch in self.batches(inputs)
        ]
        if not outputs:
            return torch.zeros(0, len(self.classes))
        return torch.cat(outputs)

    def batches(self, inputs: Tensor) -> Iterator[Tensor]:
        """The inputs in parts that go through the network at once.

        :param inputs: one per row.
        """
        if len(inputs) == 0:
            return iter(())
        return iter(torch.split(inputs, self.batch_size))

"""The network of a version, from its record alone. Does not load Avalanche."""

from collections import OrderedDict
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from udil_avalanche.learner.version import VersionRecord
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.recipes.benchmarks.images import build_image_model
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.resolve import stored_settings


class Shapes(NamedTuple):
    """What a network has to know about the data."""

    input_shape: tuple[int, ...]
    n_classes: int


def network(record: VersionRecord, weights: dict[str, Tensor]) -> EncoderPredictor:
    """The network of a version, in evaluation mode. The random generators are left as
    they were.

    :param record: what there is to know about the version.
    :param weights: its weights.
    """
    settings: Any = stored_settings(record.settings)
    shapes: Any = Shapes(tuple(record.input_shape), len(record.classes))
    if settings.benchmark == "folders":
        from_scratch = settings.model_copy(update={"weights": None})
        # New networks begin with random weights.
        with torch.random.fork_rng(devices=[]):
            model = build_image_model(from_scratch, shapes)
    else:
        with torch.random.fork_rng(devices=[]):
            model = build_perceptron(settings, shapes)
        if "encoder.input.centre" in weights:
            first = Standardise(
                *(weights[f"encoder.input.{name}"] for name in ("centre", "scale"))
            )
            layers = OrderedDict([("input", first), ("body", model.encoder)])
            model = EncoderPredictor(nn.Sequential(layers), model.predictor)
    model.load_state_dict(weights)
    model.eval().requires_grad_(False)
    return model


class RawInput(nn.Module):
    """A network that takes inputs as they are stored: 8-bit ones become numbers in
    [0, 1] first, which a network of images does by itself.

    :param body: the network.
    """

    def __init__(self, body: EncoderPredictor) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        """The class logits of ``x``."""
        logits: Tensor = self.body(as_numbers(x))
        return logits


def as_numbers(x: Tensor) -> Tensor:
    """8-bit inputs as numbers in [0, 1], others as they are.

    :param x: the inputs.
    """
    return x.float().div_(255) if x.dtype == torch.uint8 else x

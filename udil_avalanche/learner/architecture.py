"""The networks of a version, from its record alone. Does not load Avalanche."""

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from udil_avalanche.learner.version import VersionRecord
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.models.standardise import Standardise
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.benchmarks.images import build_backbone, build_image_model
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.resolve import stored_settings
from udil_avalanche.recipes.types import Backbone

CENTRE, SCALE = "encoder.input.centre", "encoder.input.scale"
"""The weights of a model that standardises its inputs."""

Weights = Mapping[str, Tensor]


class Shapes(NamedTuple):
    """What a network has to know about the data."""

    input_shape: tuple[int, ...]
    n_classes: int


def from_scratch(settings: Any) -> Any:
    """The settings without the weights to start from, which may be gone by now: those
    of a version take their place.

    :param settings: the settings of the training.
    """
    if settings.benchmark != "folders":
        return settings
    return settings.model_copy(update={"weights": None, "pretrained": False})


def network(record: VersionRecord, weights: Weights) -> EncoderPredictor:
    """The network that a version has learned, in evaluation mode. It takes what the
    version has learned from: inputs, or the features that a frozen backbone makes of
    them. The random generators are left as they were.

    :param record: what there is to know about the version.
    :param weights: its weights.
    """
    # New networks begin with random weights.
    with torch.random.fork_rng(devices=[]):
        model = _untrained(record, weights)
    model.load_state_dict(weights)
    model.eval().requires_grad_(False)
    return model


def frozen_backbone(record: VersionRecord, weights: Weights) -> Backbone:
    """The frozen backbone of a version: takes images and gives features.

    :param record: what there is to know about the version.
    :param weights: the backbone's weights.
    """
    settings = stored_settings(record.settings)
    # A frozen one would be made with published weights.
    changes = {"frozen": False, "image_size": record.input_shape[-1]}
    plain = from_scratch(settings).model_copy(update=changes)
    with torch.random.fork_rng(devices=[]):
        backbone = build_backbone(plain)
    backbone.load_state_dict(weights)
    return backbone


def _untrained(record: VersionRecord, weights: Weights) -> EncoderPredictor:
    settings: Any = stored_settings(record.settings)
    shapes: Any = Shapes(record.learned_shape, len(record.classes))
    sees_images = settings.benchmark == "folders" and record.features is None
    build_head = METHODS[settings.strategy].build_head
    if build_head is not None:
        model = _closed_form(build_head, settings, shapes, sees_images)
    elif sees_images:
        model = build_image_model(from_scratch(settings), shapes)
    else:
        model = build_perceptron(settings, shapes)
    if CENTRE not in weights:
        return model
    first = Standardise(weights[CENTRE], weights[SCALE])
    encoder = nn.Sequential(OrderedDict(input=first, body=model.encoder))
    return EncoderPredictor(encoder, model.predictor)


def _closed_form(
    build_head: Any, settings: Any, shapes: Shapes, sees_images: bool
) -> EncoderPredictor:
    """A classifier in closed form, on the features of a backbone or on the inputs."""
    encoder: nn.Module = nn.Flatten()
    width = math.prod(shapes.input_shape)
    if sees_images:
        encoder = backbone = build_backbone(from_scratch(settings))
        width = backbone.width
    head = build_head(settings, width, shapes.n_classes)
    head.drop_sums()
    return EncoderPredictor(encoder, head)


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

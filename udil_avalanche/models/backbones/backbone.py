"""A trained network without its classifier, which never changes."""

import hashlib
import json
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from udil_avalanche.models.backbones.libraries import library_of
from udil_avalanche.models.backbones.networks import (
    in_order,
    starting_weights,
    try_out,
    without_classifier,
)
from udil_avalanche.models.backbones.weights import start_from
from udil_avalanche.models.image_input import ImageInput, Normalisation
from udil_avalanche.models.mlp import EncoderPredictor

COMPUTES = 2
"""Counts the changes of what a backbone computes from the same weights."""

PUBLISHED_CLASSES = 1000
"""Classes of ImageNet. The classifier is dropped; with this number it can be loaded."""


class Backbone(nn.Module):
    """Maps 8-bit images of any size to feature vectors: scales and normalises them and
    runs a network without its classifier.

    It is always in evaluation mode and its weights need no gradients, whatever the
    model around it does.

    :func:`~udil_avalanche.make_backbone` makes one by the name of a network.

    :param name: name of the network.
    :param body: the network without its classifier.
    :param image_size: width and height that images are scaled to.
    :param normalisation: means and standard deviations of the channels.
    """

    def __init__(
        self, name: str, body: nn.Module, image_size: int, normalisation: Normalisation
    ) -> None:
        super().__init__()
        self.name = name
        self.image_size = image_size
        self.input = ImageInput(*normalisation)
        self.body = body
        self.requires_grad_(False)
        self.eval()
        self.width = try_out(self, name, image_size).shape[1]
        """Length of a feature vector."""

    def train(self, mode: bool = True) -> "Backbone":
        """Stay in evaluation mode."""
        return super().train(False)

    def forward(self, images: Tensor) -> Tensor:
        """The features, N x :attr:`width`.

        :param images: N x 3 x H x W; 8 bit, or numbers in [0, 1].
        """
        size = (self.image_size, self.image_size)
        if images.shape[-2:] != size:
            if images.dtype == torch.uint8:
                images = images.to(torch.get_default_dtype()).div_(255)
            images = interpolate(images, size, mode="bilinear", antialias=True)
        # A third faster on a CPU than one channel after the other; and how a network
        # rounds depends on it, so it is the same for all.
        images = images.contiguous(memory_format=torch.channels_last)
        features: Tensor = self.body(self.input(images))
        if features.dim() > 2:
            features = features.mean(dim=(2, 3))
        return features

    def digest(self) -> str:
        """The SHA-256 of all that decides its features: architecture, size,
        normalisation and weights."""
        facts = [COMPUTES, self.name, self.image_size]
        found = hashlib.sha256(json.dumps(facts).encode())
        for key, value in self.state_dict().items():
            found.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
            flat = value.detach().cpu().contiguous().view(-1)
            found.update(flat.view(torch.uint8).numpy().tobytes())
        return found.hexdigest()


def make_backbone(
    name: str = "efficientnet_lite0",
    *,
    weights: str | Path | None = None,
    pretrained: bool = True,
    image_size: int | None = None,
    normalisation: Normalisation | None = None,
) -> Backbone:
    """A backbone by name.

    With the package ``udil_avalanche[lite]``, without a download::

        backbone = make_backbone("efficientnet_lite0")
        features = backbone(torch.zeros(2, 3, 224, 224, dtype=torch.uint8))

    :param name: name of a network of torchvision or timm, or ``efficientnet_lite0``.
    :param weights: file with a state dict, ``.pth`` or ``.safetensors``.
    :param pretrained: without a file, take the weights that the network's library has
        for it.
    :param image_size: width and height of the images; those of the library's weights
        if ``None``.
    :param normalisation: means and standard deviations of the channels; those of the
        library's weights if ``None``.
    :raises ValueError: if there is no such network, its weights cannot be had, or it
        does not accept such images.
    """
    library = library_of(name)
    own = library.network_input(name)
    image_size = image_size or own.image_size
    state = starting_weights(name, weights, pretrained)
    network = library.make(name, PUBLISHED_CLASSES, image_size)
    if state:
        start_from(network, state, weights or "(published)", name)
    body, _ = without_classifier(network, name)
    return Backbone(name, body, image_size, normalisation or own.normalisation)


def with_backbone(backbone: Backbone, model: EncoderPredictor) -> EncoderPredictor:
    """A model that takes images, of a backbone and a model of its features.

    To use a model that was learned from features on images::

        backbone = make_backbone("efficientnet_lite0")
        model = with_backbone(backbone, mlp(backbone.width, n_classes=7))

    :param backbone: maps images to features.
    :param model: takes features; the new model takes over its encoder and predictor.
    """
    encoder = in_order(backbone=backbone, body=model.encoder)
    return EncoderPredictor(encoder, model.predictor)

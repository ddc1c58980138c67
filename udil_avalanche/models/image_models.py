"""Networks for images as h = p o e, to be trained as a whole."""

import math
from pathlib import Path

from torch import nn
from torchvision.models.resnet import ResNet

from udil_avalanche.models.backbones.libraries import library_of
from udil_avalanche.models.backbones.networks import (
    in_order,
    starting_weights,
    try_out,
    without_classifier,
)
from udil_avalanche.models.backbones.weights import start_from
from udil_avalanche.models.gentle import freeze_batch_norm
from udil_avalanche.models.image_input import IMAGENET, ImageInput, Normalisation
from udil_avalanche.models.mlp import EncoderPredictor


def image_model(
    name: str = "resnet18",
    n_classes: int = 50,
    *,
    image_size: int = 128,
    normalisation: Normalisation = IMAGENET,
    weights: str | Path | None = None,
    pretrained: bool = False,
    frozen_batchnorm: bool = False,
) -> EncoderPredictor:
    """A network for images, split in two.

    A residual network of torchvision is split as in the paper: e is everything before
    the final average pooling, p the pooling and the linear classifier. Any other
    network is split before its last linear layer (SqueezeNet, which has none, before
    its last convolution).

    BatchNorm is in training mode over a joint mini-batch of current and memory samples,
    so that its statistics are those of all domains so far, on which the model is
    tested. With separate forward passes, each part would be normalised by itself, which
    never happens to a test sample.

    ::

        model = image_model("resnet18", n_classes=7, image_size=64)
        logits = model(torch.zeros(2, 3, 64, 64, dtype=torch.uint8))

    :param name: name of a network of torchvision or timm, or ``efficientnet_lite0``.
    :param n_classes: number of classes.
    :param image_size: width and height of the images.
    :param normalisation: means and standard deviations of the channels.
    :param weights: file with weights to start from: a state dict of the library's model
        (``.pth``, or ``.safetensors``), or ``model.safetensors`` of an earlier run. A
        classifier for other classes is not loaded.
    :param pretrained: without a file, start from the weights that the network's
        library has for it.
    :param frozen_batchnorm: let BatchNorm keep its statistics and scales.
    :raises ValueError: if there is no such network, its weights cannot be had, it does
        not accept such images, or the file does not hold its weights.
    """
    network = library_of(name).make(name, n_classes, image_size)
    state = starting_weights(name, weights, pretrained)
    origin = weights or "(published)"
    of_a_run = any(key.startswith("encoder.") for key in state)
    if state and not of_a_run:
        start_from(network, state, origin, name)
    model = _split(network, name, ImageInput(*normalisation))
    if of_a_run:
        start_from(model, state, origin, name)
    if frozen_batchnorm:
        freeze_batch_norm(model)
    shape = tuple(try_out(model, name, image_size).shape)
    if math.prod(shape) != n_classes:
        raise ValueError(f"network={name}: gives {shape} instead of {n_classes} logits")
    return model


def _split(network: nn.Module, name: str, first: ImageInput) -> EncoderPredictor:
    if isinstance(network, ResNet):
        layers = dict(network.named_children())
        fc, avgpool = layers.pop("fc"), layers.pop("avgpool")
        return EncoderPredictor(
            in_order(input=first, **layers),
            in_order(avgpool=avgpool, flatten=nn.Flatten(), fc=fc),
        )
    body, predictor = without_classifier(network, name)
    return EncoderPredictor(in_order(input=first, body=body), predictor)

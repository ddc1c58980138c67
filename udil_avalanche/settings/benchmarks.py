"""What each benchmark has to set, besides what every run has."""

from dataclasses import dataclass
from typing import Literal

from udil_avalanche.settings.run import RunSettings, number


@dataclass
class HDBallsSettings(RunSettings):
    """High-dimensional Gaussian balls, two classes: half of each ball."""

    dimensions: int = number(100, at_least=2)
    """dimensions of the space"""
    sigma: float = number(0.2, above=0)
    """standard deviation of a ball in every dimension"""
    test_per_domain: int = number(2000, at_least=1)
    """test samples of each domain"""
    network: Literal["shallow", "cida"] = "shallow"
    """two hidden layers, or the eight layers of CIDA's circle"""


@dataclass
class PermutedMnistSettings(RunSettings):
    """MNIST, its pixels in another order in every domain."""


@dataclass
class RotatedMnistSettings(RunSettings):
    """MNIST, domain t turned by an angle from [9(t-1), 9t) degrees."""

    per_image_angles: bool = False
    """draw an angle for every image instead of one for the whole domain"""


__all__ = ["HDBallsSettings", "PermutedMnistSettings", "RotatedMnistSettings"]

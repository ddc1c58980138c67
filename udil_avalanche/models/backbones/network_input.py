"""What a network expects of its images."""

from typing import NamedTuple

from udil_avalanche.models.image_input import Normalisation


class NetworkInput(NamedTuple):
    """The images that a network's published weights were trained on.

    :param image_size: width and height.
    :param normalisation: means and standard deviations of the channels.
    """

    image_size: int
    normalisation: Normalisation

"""The model of the benchmarks whose inputs are vectors or small images."""

import math

from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.types import DataShapes, EncoderPredictor


def build_perceptron(settings: RunSettings, benchmark: DataShapes) -> EncoderPredictor:
    """A perceptron with two hidden layers.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    """
    from udil_avalanche.models import mlp

    return mlp(
        input_size=math.prod(benchmark.input_shape),
        n_classes=benchmark.n_classes,
        hidden=settings.hidden,
    )

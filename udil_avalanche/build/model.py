"""From settings to models."""

import math

from torch import nn

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.models.image_models import IMAGENET, Normalisation, image_model
from udil_avalanche.models.mlp import cida_mlp, mlp
from udil_avalanche.settings import HDBallsSettings, ImageSettings, RunSettings


def build_model(settings: RunSettings, benchmark: DomainScenario) -> nn.Module:
    """The model of this benchmark, with new weights.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    """
    if isinstance(settings, ImageSettings):
        return image_model(
            settings.network,
            benchmark.n_classes,
            image_size=settings.image_size,
            normalisation=_normalisation(settings.normalisation),
            weights=settings.weights,
        )
    deep = isinstance(settings, HDBallsSettings) and settings.network == "cida"
    make_model = cida_mlp if deep else mlp
    return make_model(
        input_size=math.prod(benchmark.input_shape),
        n_classes=benchmark.n_classes,
        hidden=settings.hidden,
    )


def _normalisation(text: str) -> Normalisation:
    known = {"imagenet": IMAGENET, "none": ((0.0,) * 3, (1.0,) * 3)}
    if text in known:
        return known[text]
    try:
        mean, std = ([float(x) for x in part.split(",")] for part in text.split("/"))
    except ValueError:
        mean, std = [], []
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        raise ValueError(
            f"normalisation={text}: expected imagenet, none, or "
            "mean,mean,mean/std,std,std"
        )
    return mean, std


__all__ = ["build_model"]

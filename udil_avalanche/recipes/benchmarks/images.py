"""What the benchmarks of image files share."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.settings import Role, RunSettings, Was
from udil_avalanche.recipes.types import BasePlugin, DomainScenario, Module


class ImageSettings(RunSettings):
    """What the benchmarks of image files share."""

    data: Annotated[str, Role.TASK] = "data"
    """folder with the images"""
    eval_batch_size: int = Field(100, ge=1)
    """samples in a batch of the evaluation"""
    network: str = "resnet18"
    """name of a classification model of torchvision"""
    weights: str | None = None
    """file with weights for the network to start from, .pth or .safetensors; null:
    random ones"""
    image_size: Annotated[int, Role.TASK] = Field(128, ge=8, le=1024)
    """width and height that images are scaled to"""
    normalisation: str = "imagenet"
    """imagenet, none, or mean,mean,mean/std,std,std of the channels in [0, 1]"""
    flip: bool = True
    """mirror half of the images of every training batch, chosen at random"""
    test_share: Annotated[float, Role.TASK] = Field(0.2, gt=0, lt=1)
    """share of each domain that is held out for testing, unless the data are split
    already"""
    stratified: Annotated[bool, Role.TASK] = False
    """hold the same share out of every class instead of out of the whole domain"""
    workers: Annotated[int, Role.PLACE] = Field(2, ge=0)
    """processes that decode images; 0: the training process does it"""
    verify_images: Annotated[bool, Role.PLACE, Was("check")] = True
    """decode every image once before training, to name damaged ones at once"""
    skip_invalid: Annotated[bool, Role.TASK, Was("skip_bad")] = False
    """leave out damaged images, empty classes and test samples of unknown classes, and
    count them, instead of refusing them"""


DEFAULTS = {
    "epochs": 5,
    "batch_size": 32,
    "optimizer": "adam",
    "lr": 3e-4,
    "clip_norm": None,
    "memory_batch": 64,
}
"""Defaults of a small network on a few thousand images."""


def image_plugins(settings: ImageSettings) -> list[BasePlugin]:
    """The loader of images.

    :param settings: the settings of the run.
    """
    from udil_avalanche.plugins import ImageLoaderPlugin

    return [ImageLoaderPlugin(settings.workers)]


def build_image_model(settings: ImageSettings, benchmark: DomainScenario) -> Module:
    """A network of torchvision.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    """
    from udil_avalanche.models import image_model

    return image_model(
        settings.network,
        benchmark.n_classes,
        image_size=settings.image_size,
        normalisation=_normalisation(settings.normalisation),
        weights=settings.weights,
    )


def _normalisation(text: str) -> tuple[Sequence[float], Sequence[float]]:
    from udil_avalanche.models.image_input import IMAGENET

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

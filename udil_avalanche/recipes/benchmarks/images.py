"""What the benchmarks of image files share."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from udil_avalanche.recipes.settings import Role, RunSettings, Was, arguments
from udil_avalanche.recipes.types import (
    Backbone,
    BasePlugin,
    DomainScenario,
    EncoderPredictor,
    FrozenFeatures,
    Module,
    Normalisation,
)


class ImageSettings(RunSettings):
    """What the benchmarks of image files share."""

    data: Annotated[str, Role.TASK] = "data"
    """folder with the images"""
    eval_batch_size: int = Field(100, ge=1)
    """samples in a batch of the evaluation"""
    network: str = "resnet18"
    """name of a network of torchvision or timm, or efficientnet_lite0"""
    weights: str | None = None
    """file with weights for the network to start from, .pth or .safetensors; null:
    random ones, unless pretrained or frozen"""
    pretrained: bool = False
    """start from the weights that the network's library has for it; frozen=true does so
    too, unless weights=FILE is given"""
    frozen: Annotated[bool, Role.TASK] = False
    """learn from the features that the network computes of each image once, instead of
    from the images; the network itself does not learn"""
    image_size: Annotated[int | None, Role.TASK] = Field(128, ge=8, le=1024)
    """width and height that images are scaled to; null: what the network's published
    weights were trained on"""
    normalisation: str = "imagenet"
    """imagenet, none, network (that of its published weights), or
    mean,mean,mean/std,std,std of the channels in [0, 1]"""
    lr_backbone: float | None = Field(None, gt=0)
    """learning rate of all of the network but its classifier; null: that of the
    classifier"""
    frozen_batchnorm: bool = False
    """keep the statistics and scales of BatchNorm as they are at the start"""
    flip: bool = True
    """mirror half of the images of every training batch, chosen at random; not with
    frozen"""
    test_share: Annotated[float, Role.TASK] = Field(0.2, gt=0, lt=1)
    """share of each domain that is held out for testing, unless the data are split
    already"""
    stratified: Annotated[bool, Role.TASK] = False
    """hold the same share out of every class instead of out of the whole domain"""
    workers: Annotated[int, Role.PLACE] = Field(2, ge=0)
    """processes that decode images; 0: the training process does it"""
    cache: Annotated[str, Role.PLACE] = "data/features"
    """folder where frozen keeps the features"""
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
    "anneal": 0.5,
    "memory_batch": 64,
}
"""Defaults of a small network on a few thousand images."""

DEFAULTS_WITH: dict[str, dict[str, Any]] = {
    "frozen": {
        **{"network": "efficientnet_lite0", "flip": False, "workers": 0},
        **{"image_size": None, "normalisation": "network", "eval_batch_size": 1000},
        **{"epochs": 10, "batch_size": 64, "optimizer": "sgd", "lr": 0.5},
        **{"clip_norm": 1.0, "anneal": 0.1, "memory_batch": 64},
    },
    "pretrained": {"image_size": None, "normalisation": "network"},
}
"""Defaults of the settings that are switches. Features are learned from like arrays."""


def build_images(settings: ImageSettings) -> DomainScenario:
    """A benchmark of images, or of their features.

    :param settings: the settings of the run.
    """
    from udil_avalanche import benchmarks

    make: Callable[..., DomainScenario] = getattr(benchmarks, settings.benchmark)
    given: dict[str, Any] = {
        **arguments(make, settings),
        "image_size": image_size_of(settings),
    }
    if settings.frozen:
        given["features"] = frozen_features(settings)
    return make(**given)


def frozen_features(
    settings: ImageSettings, backbone: Backbone | None = None
) -> FrozenFeatures:
    """What computes the features of images and keeps them.

    :param settings: the settings of the run.
    :param backbone: what makes them, if it is there already.
    :raises ValueError: if a setting makes no sense with features.
    """
    from udil_avalanche.benchmarks.features import FrozenFeatures

    if settings.flip:
        raise ValueError("flip=true: the features of an image cannot be mirrored")
    if settings.lr_backbone is not None:
        raise ValueError(
            f"lr_backbone={settings.lr_backbone}: a frozen network does not learn"
        )
    if backbone is None:
        backbone = build_backbone(settings)
    return FrozenFeatures(backbone, settings.cache, device=settings.device)


def image_plugins(settings: ImageSettings) -> list[BasePlugin]:
    """The loader of images.

    :param settings: the settings of the run.
    """
    from udil_avalanche.plugins import ImageLoaderPlugin

    return [] if settings.frozen else [ImageLoaderPlugin(settings.workers)]


def build_image_model(
    settings: ImageSettings, benchmark: DomainScenario
) -> EncoderPredictor:
    """A network for images, or a perceptron for their features.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    """
    from udil_avalanche.models import image_model, standardised

    if settings.frozen:
        from udil_avalanche.data.tensor_dataset import tensor_source
        from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron

        first = tensor_source(benchmark.train_stream[0].dataset)
        assert first is not None, "features are tensors"
        return standardised(build_perceptron(settings, benchmark), first.domain.inputs)
    return image_model(
        settings.network,
        benchmark.n_classes,
        image_size=image_size_of(settings),
        normalisation=normalisation_of(settings),
        weights=settings.weights,
        pretrained=settings.pretrained,
        frozen_batchnorm=settings.frozen_batchnorm,
    )


def build_image_features(settings: ImageSettings, benchmark: DomainScenario) -> Module:
    """The features of images by the network, or the features that are the inputs.

    :param settings: the settings of the run.
    :param benchmark: what is to be learned.
    """
    from torch import nn

    return nn.Sequential() if settings.frozen else build_backbone(settings)


def build_backbone(settings: ImageSettings) -> Backbone:
    """The network without its classifier, as it starts; it does not learn.

    :param settings: the settings of the run.
    """
    from udil_avalanche.models.backbones import make_backbone

    return make_backbone(
        settings.network,
        weights=settings.weights,
        pretrained=settings.pretrained or settings.frozen,
        image_size=image_size_of(settings),
        normalisation=normalisation_of(settings),
    )


def image_size_of(settings: ImageSettings) -> int:
    """Width and height that images are scaled to.

    :param settings: the settings of the run.
    """
    if settings.image_size is not None:
        return settings.image_size
    from udil_avalanche.models.backbones import network_input

    return network_input(settings.network).image_size


def normalisation_of(settings: ImageSettings) -> Normalisation:
    """Means and standard deviations of the channels.

    :param settings: the settings of the run.
    :raises ValueError: if they are malformed.
    """
    from udil_avalanche.models.backbones import network_input
    from udil_avalanche.models.image_input import IMAGENET

    text = settings.normalisation
    if text == "network":
        return network_input(settings.network).normalisation
    known: dict[str, Normalisation] = {
        "imagenet": IMAGENET,
        "none": ((0.0,) * 3, (1.0,) * 3),
    }
    if text in known:
        return known[text]
    try:
        mean, std = ([float(x) for x in part.split(",")] for part in text.split("/"))
    except ValueError:
        mean, std = [], []
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        raise ValueError(
            f"normalisation={text}: expected imagenet, none, network, or "
            "mean,mean,mean/std,std,std"
        )
    return mean, std

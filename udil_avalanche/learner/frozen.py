"""The features that a model with a frozen backbone learns from."""

from collections.abc import Callable
from typing import Any

import torch

from udil_avalanche.benchmarks.features import FrozenFeatures
from udil_avalanche.errors import SettingsError
from udil_avalanche.models.backbones import Backbone
from udil_avalanche.recipes.benchmarks.images import frozen_features


def features_by(
    settings: Any, backbone: Callable[[], Backbone | None]
) -> FrozenFeatures | None:
    """What makes features of images, and keeps them in the cache that runs have, too.
    The random generators are left as they were.

    :param settings: the settings of the training.
    :param backbone: returns the model's backbone, or ``None`` before there is a model;
        it is then made as the settings say.
    :return: ``None`` if the model learns from the inputs themselves.
    :raises SettingsError: if the backbone cannot be had.
    """
    if not getattr(settings, "frozen", False):
        return None
    try:
        with torch.random.fork_rng(devices=[]):
            return frozen_features(settings, backbone())
    except ValueError as error:
        raise SettingsError(str(error)) from error

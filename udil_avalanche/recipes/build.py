"""From the settings of a run to what it trains."""

from collections.abc import Sequence
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.templates import SupervisedTemplate
from torch import nn

from udil_avalanche.data import DomainScenario
from udil_avalanche.models import EncoderPredictor
from udil_avalanche.models.gentle import slow_down
from udil_avalanche.plugins import (
    AnnealingPlugin,
    AveragedWeightsPlugin,
    GradientClippingPlugin,
    RandomFlipPlugin,
)
from udil_avalanche.recipes.catalogue import BENCHMARKS, METHODS
from udil_avalanche.recipes.settings import RunSettings
from udil_avalanche.recipes.training import Training


def build_benchmark(settings: RunSettings) -> DomainScenario:
    """The benchmark of a run.

    :param settings: the settings of the run.
    """
    benchmark = BENCHMARKS[settings.benchmark].build(settings)
    n_domains = len(benchmark.train_stream)
    if 0 < settings.memory < n_domains:
        raise ValueError(
            f"memory={settings.memory}: too small for one sample of each of "
            f"{n_domains} domains"
        )
    return benchmark


def build_model(settings: RunSettings, benchmark: DomainScenario) -> nn.Module:
    """The model of a run, with new weights.

    :param settings: the settings of the run.
    :param benchmark: what it is to learn.
    """
    recipe = BENCHMARKS[settings.benchmark]
    build_head = METHODS[settings.strategy].build_head
    if build_head is None:
        return recipe.build_model(settings, benchmark)
    features = recipe.build_features(settings, benchmark)
    first = benchmark.test_stream[0].dataset[0][0]
    with torch.no_grad():
        width = features.eval()(first[None]).shape[1]
    return EncoderPredictor(features, build_head(settings, width, benchmark.n_classes))


def build_strategy(
    settings: RunSettings,
    model: nn.Module,
    *,
    evaluator: EvaluationPlugin,
    plugins: Sequence[BasePlugin] = (),
) -> SupervisedTemplate:
    """The strategy of a run.

    :param settings: the settings of the run.
    :param model: what it trains.
    :param evaluator: what it reports to.
    :param plugins: more plugins.
    """
    shared = [*BENCHMARKS[settings.benchmark].plugins(settings), *plugins]
    if settings.clip_norm is not None:
        shared.append(GradientClippingPlugin(settings.clip_norm))
    if settings.anneal > 0:
        shared.append(AnnealingPlugin(settings.anneal))
    if settings.average > 0:
        shared.append(AveragedWeightsPlugin(settings.average))
    training = Training(
        arguments={
            "model": model,
            "optimizer": _optimizer(settings, model),
            "train_mb_size": settings.batch_size,
            "train_epochs": settings.epochs,
            "eval_mb_size": settings.eval_batch_size,
            "device": torch.device(settings.device),
            "evaluator": evaluator,
        },
        plugins=shared,
        flip=RandomFlipPlugin() if getattr(settings, "flip", False) else None,
    )
    return METHODS[settings.strategy].build(settings, training)


def _optimizer(settings: RunSettings, model: nn.Module) -> torch.optim.Optimizer:
    common: dict[str, Any] = {
        "lr": settings.lr,
        "weight_decay": settings.weight_decay,
        "fused": True,
    }
    optimizer: torch.optim.Optimizer
    if settings.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), **common)
    else:
        optimizer = torch.optim.SGD(
            model.parameters(), momentum=settings.momentum, **common
        )
    lr_backbone = getattr(settings, "lr_backbone", None)
    if lr_backbone is not None:
        backbone = model.get_submodule("encoder").parameters()
        slow_down(optimizer, backbone, lr_backbone / settings.lr)
    return optimizer

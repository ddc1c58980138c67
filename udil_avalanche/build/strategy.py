"""From settings to strategies."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from avalanche.training.templates import SupervisedTemplate
from torch import nn

from udil_avalanche.plugins import (
    AGEMPlugin,
    AnnealingPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    DERPlugin,
    ESMERPlugin,
    GEMPlugin,
    GradientClippingPlugin,
    HistoryModelPlugin,
    ImageLoaderPlugin,
    LwFPlugin,
    OnlineEWCPlugin,
    RandomFlipPlugin,
    SynapticIntelligencePlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.settings import (
    AGEMSettings,
    CLSERSettings,
    DERSettings,
    ERSettings,
    ESMERSettings,
    FineTuneSettings,
    GEMSettings,
    ImageSettings,
    JointSettings,
    LwFSettings,
    OEWCSettings,
    RunSettings,
    SISettings,
    UDILSettings,
)
from udil_avalanche.strategies import UDIL, Joint
from udil_avalanche.theory.unification import PRESETS


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
    :param plugins: further plugins.
    """
    if settings.clip_norm is not None:
        plugins = [*plugins, GradientClippingPlugin(settings.clip_norm)]
    if settings.anneal > 0:
        plugins = [*plugins, AnnealingPlugin(settings.anneal)]
    if isinstance(settings, ImageSettings):
        plugins = [ImageLoaderPlugin(settings.workers), *plugins]
        if settings.flip and not isinstance(settings, UDILSettings):
            plugins = [RandomFlipPlugin(), *plugins]
    return STRATEGIES[settings.strategy](
        settings,
        plugins,
        model=model,
        optimizer=_optimizer(settings, model),
        train_mb_size=settings.batch_size,
        train_epochs=settings.epochs,
        eval_mb_size=settings.eval_batch_size,
        device=torch.device(settings.device),
        evaluator=evaluator,
    )


def _optimizer(settings: RunSettings, model: nn.Module) -> torch.optim.Optimizer:
    common: dict[str, Any] = {
        "lr": settings.lr,
        "weight_decay": settings.weight_decay,
        "fused": True,
    }
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), **common)
    return torch.optim.SGD(model.parameters(), momentum=settings.momentum, **common)


def _udil(
    settings: UDILSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    flips = isinstance(settings, ImageSettings) and settings.flip
    return UDIL(
        preset=PRESETS.get(settings.coefficients),
        mem_size=settings.memory,
        batch_size_mem=settings.memory_batch,
        class_balanced_memory=settings.class_balanced_memory,
        c=settings.C,
        lambda_d=settings.lambda_d,
        lambda_p=settings.lambda_p,
        lambda_s=settings.lambda_s,
        temperature=settings.temperature,
        cross_domain_threshold=settings.cross_domain_threshold,
        lr_discriminator=settings.lr_discriminator,
        lr_coefficients=settings.lr_coefficients,
        hidden_discriminator=settings.hidden_discriminator,
        domain_power=settings.domain_power,
        reset_optimizer=settings.reset_optimizer,
        flip=RandomFlipPlugin() if flips else None,
        plugins=plugins,
        **common,
    )


def _fine_tune(
    settings: FineTuneSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    return Naive(plugins=[TensorLoaderPlugin(), *plugins], **common)


def _oewc(
    settings: OEWCSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    ewc = OnlineEWCPlugin(
        settings.ewc_lambda, settings.gamma, n_samples=settings.fisher_samples
    )
    return Naive(plugins=[TensorLoaderPlugin(), ewc, *plugins], **common)


def _si(
    settings: SISettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    si = SynapticIntelligencePlugin(settings.c, settings.xi)
    return Naive(plugins=[TensorLoaderPlugin(), si, *plugins], **common)


def _lwf(
    settings: LwFSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    history = HistoryModelPlugin()
    lwf = LwFPlugin(history, alpha=settings.alpha, temperature=settings.temperature)
    return Naive(plugins=[TensorLoaderPlugin(), history, lwf, *plugins], **common)


def _gem(
    settings: GEMSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    gem = GEMPlugin(settings.memory, margin=settings.margin)
    return Naive(plugins=[TensorLoaderPlugin(), gem, *plugins], **common)


def _agem(
    settings: AGEMSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    agem = AGEMPlugin(settings.memory, sample_size=settings.memory_batch)
    return Naive(plugins=[TensorLoaderPlugin(), agem, *plugins], **common)


def _er(
    settings: ERSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    return Naive(plugins=[TensorLoaderPlugin(), _replay(settings), *plugins], **common)


def _der(
    settings: DERSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    der = DERPlugin(
        settings.memory,
        alpha=settings.alpha,
        beta=settings.beta,
        batch_size_mem=settings.memory_batch,
        reservoir=settings.reservoir,
    )
    return Naive(plugins=[TensorLoaderPlugin(), der, *plugins], **common)


def _cls_er(
    settings: CLSERSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    replay = _replay(settings)
    cls_er = CLSERPlugin(
        replay,
        reg_weight=settings.reg_weight,
        stable_freq=settings.stable_freq,
        stable_alpha=settings.stable_alpha,
        plastic_freq=settings.plastic_freq,
        plastic_alpha=settings.plastic_alpha,
    )
    return Naive(plugins=[TensorLoaderPlugin(), replay, cls_er, *plugins], **common)


def _esm_er(
    settings: ESMERSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    replay = _replay(settings)
    criterion = ESMERPlugin(
        replay,
        reg_weight=settings.reg_weight,
        stable_freq=settings.stable_freq,
        stable_alpha=settings.stable_alpha,
        loss_margin=settings.loss_margin,
        loss_alpha=settings.loss_alpha,
        std_margin=settings.std_margin,
        warmup=settings.warmup,
    )
    return Naive(
        plugins=[TensorLoaderPlugin(), replay, *plugins], criterion=criterion, **common
    )


def _replay(settings: ERSettings) -> BalancedReplayPlugin:
    return BalancedReplayPlugin(
        settings.memory, settings.memory_batch, reservoir=settings.reservoir
    )


def _joint(
    settings: JointSettings, plugins: Sequence[BasePlugin], **common: Any
) -> SupervisedTemplate:
    return Joint(plugins=[TensorLoaderPlugin(), *plugins], **common)


STRATEGIES: dict[str, Callable[..., SupervisedTemplate]] = {
    "UDIL": _udil,
    "Fine-tune": _fine_tune,
    "oEWC": _oewc,
    "SI": _si,
    "LwF": _lwf,
    "GEM": _gem,
    "A-GEM": _agem,
    "ER": _er,
    "DER++": _der,
    "CLS-ER": _cls_er,
    "ESM-ER": _esm_er,
    "Joint": _joint,
}


__all__ = ["STRATEGIES", "build_strategy"]

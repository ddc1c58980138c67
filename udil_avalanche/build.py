"""From settings to what they describe: benchmarks, models and strategies.

To add a strategy or a benchmark, write a function that makes it from its settings and
put it into ``STRATEGIES`` or ``BENCHMARKS``, beside its dataclass in
:mod:`udil_avalanche.settings`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from avalanche.training.templates import SupervisedTemplate
from torch import nn

from udil_avalanche.benchmarks import (
    arrays,
    folders,
    hd_balls,
    permuted_mnist,
    rotated_mnist,
    seq_core50,
)
from udil_avalanche.image_models import IMAGENET, Normalisation, image_model
from udil_avalanche.models import cida_mlp, mlp
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
from udil_avalanche.presets import PRESETS
from udil_avalanche.settings import (
    AGEMSettings,
    ArraysSettings,
    CLSERSettings,
    DERSettings,
    ERSettings,
    ESMERSettings,
    FineTuneSettings,
    FoldersSettings,
    GEMSettings,
    HDBallsSettings,
    ImageSettings,
    JointSettings,
    LwFSettings,
    OEWCSettings,
    PermutedMnistSettings,
    RotatedMnistSettings,
    RunSettings,
    SeqCORe50Settings,
    SISettings,
    UDILSettings,
)
from udil_avalanche.strategies import UDIL, Joint
from udil_avalanche.tensor_data import DomainScenario


def build_benchmark(settings: RunSettings) -> DomainScenario:
    """The benchmark of a run.

    :param settings: the settings of the run.
    """
    benchmark = BENCHMARKS[settings.benchmark](settings)
    n_domains = len(benchmark.train_stream)
    if 0 < settings.memory < n_domains:
        raise ValueError(
            f"memory={settings.memory}: too small for one sample of each of "
            f"{n_domains} domains"
        )
    return benchmark


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


def _hd_balls(settings: HDBallsSettings) -> DomainScenario:
    if settings.train_per_domain is None:
        sizes = {}
    else:
        sizes = {"train_per_domain": settings.train_per_domain}
    return hd_balls(
        domains=settings.domains,
        **sizes,
        test_per_domain=settings.test_per_domain,
        dimensions=settings.dimensions,
        sigma=settings.sigma,
        validation=settings.validation,
        seed=settings.seed,
    )


def _permuted_mnist(settings: PermutedMnistSettings) -> DomainScenario:
    return permuted_mnist(
        settings.data,
        domains=settings.domains,
        train_per_domain=settings.train_per_domain,
        validation=settings.validation,
        seed=settings.seed,
    )


def _rotated_mnist(settings: RotatedMnistSettings) -> DomainScenario:
    return rotated_mnist(
        settings.data,
        domains=settings.domains,
        train_per_domain=settings.train_per_domain,
        per_image_angles=settings.per_image_angles,
        validation=settings.validation,
        seed=settings.seed,
    )


def _seq_core50(settings: SeqCORe50Settings) -> DomainScenario:
    return seq_core50(
        settings.data,
        domains=settings.domains,
        objects=settings.objects,
        **_of_images(settings),
    )


def _folders(settings: FoldersSettings) -> DomainScenario:
    return folders(
        settings.data,
        order=settings.order,
        domains=settings.domains,
        **_of_images(settings),
    )


def _of_images(settings: ImageSettings) -> dict[str, Any]:
    return {
        "image_size": settings.image_size,
        "test_share": settings.test_share,
        "stratified": settings.stratified,
        "train_per_domain": settings.train_per_domain,
        "validation": settings.validation,
        "check": settings.check,
        "skip_bad": settings.skip_bad,
        "seed": settings.seed,
    }


def _arrays(settings: ArraysSettings) -> DomainScenario:
    return arrays(
        settings.data,
        order=settings.order,
        domains=settings.domains,
        test_share=settings.test_share,
        stratified=settings.stratified,
        train_per_domain=settings.train_per_domain,
        validation=settings.validation,
        skip_bad=settings.skip_bad,
        seed=settings.seed,
    )


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

BENCHMARKS: dict[str, Callable[..., DomainScenario]] = {
    "hd_balls": _hd_balls,
    "permuted_mnist": _permuted_mnist,
    "rotated_mnist": _rotated_mnist,
    "seq_core50": _seq_core50,
    "folders": _folders,
    "arrays": _arrays,
}


__all__ = [
    "BENCHMARKS",
    "STRATEGIES",
    "build_benchmark",
    "build_model",
    "build_strategy",
]

"""Unified Domain Incremental Learning."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.plugins.evaluation import default_evaluator
from avalanche.training.templates import SupervisedTemplate
from torch import nn
from torch.optim import Optimizer

from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    BalancedReplayPlugin,
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    HistoryModelPlugin,
    RandomFlipPlugin,
    SupConPlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.plugins.udil.omega import AdaptiveOmega
from udil_avalanche.theory.unification import Preset


class UDIL(SupervisedTemplate):
    """Unified Domain Incremental Learning (Shi and Wang, NeurIPS 2023,
    https://arxiv.org/abs/2310.12244).

    Algorithm 1 of the paper as a composition of plugins. In each iteration of domain
    t > 1:

    1. :class:`BalancedReplayPlugin` appends samples of the past domains to the
       mini-batch; one forward pass through h = p o e serves all that follows.
    2. :class:`DiscriminatorPlugin` takes the discriminator's step on V_d.
    3. :class:`AdaptiveCoefficientsPlugin` takes Omega's step on V_0-1 and gives V_l.
    4. The model takes its step on
       V_l - lambda_d V_d + lambda_p V_p + lambda_s V_s.

    After the domain, :class:`HistoryModelPlugin` keeps H_t and the memory is shared out
    anew. The first domain is plain training, with V_s.

    A weight of 0 leaves its plugin out, and with it its cost; so does a preset without
    beta with the discriminator, whose game beta weighs.

    :param model: h = p o e.
    :param optimizer: the model's optimizer.
    :param encoder: name of the model's sub-module that is its encoder e.
    :param mem_size: \\|M\\|, samples kept over all past domains.
    :param batch_size_mem: memory samples in each mini-batch.
    :param class_balanced_memory: share a domain's quota out evenly between its classes.
    :param c: C, weight of the generalisation term in V_0-1: the larger, the more the
        bound trusts the current domain's many samples (beta) over the memory's few.
    :param lambda_d: weight of the adversarial alignment V_d.
    :param lambda_p: weight of the past-embedding distillation V_p.
    :param lambda_s: weight of the supervised contrastive loss V_s.
    :param temperature: divides the squared distances in V_s; the paper's formula has 1.
    :param cross_domain_threshold: the cross-domain term of V_l is left out of a
        mini-batch in which its loss is larger; ``None`` never leaves it out.
    :param lr_discriminator: learning rate of the discriminator's Adam.
    :param lr_coefficients: learning rate of the Adam that learns Omega.
    :param hidden_discriminator: width of the discriminator's hidden layers.
    :param preset: holds Omega still, as a method of the unification table does;
        learned if ``None``.
    :param domain_power: divide the objective by t to this power. The paper sums over
        domains (0); 1 averages over them. This matters to SGD, whose steps would grow
        with t, and not to Adam.
    :param reset_optimizer: forget the state of the model's optimizer before each
        domain.
    :param flip: mirrors the images of every mini-batch at random.
    :param train_mb_size: samples of the current domain in each mini-batch.
    :param train_epochs: number of epochs on each domain.
    :param eval_mb_size: mini-batch size for evaluation.
    :param device: where the model is trained.
    :param plugins: further plugins, called after those of UDIL.
    :param evaluator: see Avalanche's ``SupervisedTemplate``.
    :param eval_every: see Avalanche's ``SupervisedTemplate``.
    :param peval_mode: see Avalanche's ``SupervisedTemplate``.
    """

    def __init__(
        self,
        *,
        model: nn.Module,
        optimizer: Optimizer,
        encoder: str = "encoder",
        mem_size: int = 400,
        batch_size_mem: int = 128,
        class_balanced_memory: bool = False,
        c: float = 1.0,
        lambda_d: float = 0.1,
        lambda_p: float = 1.0,
        lambda_s: float = 0.01,
        temperature: float = 1.0,
        cross_domain_threshold: float | None = None,
        lr_discriminator: float = 1e-4,
        lr_coefficients: float = 2e-3,
        hidden_discriminator: int = 800,
        preset: Preset | None = None,
        domain_power: float = 0.0,
        reset_optimizer: bool = True,
        flip: RandomFlipPlugin | None = None,
        train_mb_size: int = 128,
        train_epochs: int = 1,
        eval_mb_size: int | None = None,
        device: str | torch.device = "cpu",
        plugins: Sequence[BasePlugin] | None = None,
        evaluator: EvaluationPlugin
        | Callable[[], EvaluationPlugin] = default_evaluator,
        eval_every: int = -1,
        peval_mode: str = "epoch",
    ) -> None:
        if min(c, lambda_d, lambda_p, lambda_s) < 0:
            raise ValueError(
                "The weights c, lambda_d, lambda_p and lambda_s must not be negative."
            )
        self.domain_power = domain_power
        self.reset_optimizer = reset_optimizer
        omega = AdaptiveOmega(lr_coefficients, preset.coefficients if preset else None)
        self.replay = BalancedReplayPlugin(
            mem_size, batch_size_mem, class_balanced_memory
        )
        self.history = HistoryModelPlugin(self.replay, encoder, flip)
        parts: list[Any] = [TensorLoaderPlugin(), self.replay]
        parts += [self.history] if flip is None else [flip, self.history]

        self.discriminator: DiscriminatorPlugin | None = None
        uses_beta = preset is None or preset.coefficients(2)[1] > 0
        if lambda_d > 0 and uses_beta:
            self.discriminator = DiscriminatorPlugin(
                self.replay,
                lambda_d=lambda_d,
                lr=lr_discriminator,
                hidden=hidden_discriminator,
                omega=omega,
                encoder=encoder,
            )
            parts.append(self.discriminator)

        self.coefficients = AdaptiveCoefficientsPlugin(
            self.replay,
            self.history,
            self.discriminator,
            omega=omega,
            c=c,
            cross_domain_threshold=cross_domain_threshold,
            multilabel=preset is not None and preset.multilabel,
        )
        parts.append(self.coefficients)
        if lambda_p > 0:
            parts.append(
                EmbeddingDistillationPlugin(
                    self.replay, self.history, lambda_p=lambda_p, encoder=encoder
                )
            )
        if lambda_s > 0:
            parts.append(
                SupConPlugin(
                    lambda_s=lambda_s, temperature=temperature, encoder=encoder
                )
            )
        super().__init__(
            model=model,
            optimizer=optimizer,
            criterion=self.coefficients,
            train_mb_size=train_mb_size,
            train_epochs=train_epochs,
            eval_mb_size=eval_mb_size,
            device=device,
            plugins=[*parts, *(plugins or [])],
            evaluator=evaluator,
            eval_every=eval_every,
            peval_mode=peval_mode,
        )

    def _before_backward(self, **kwargs: Any) -> None:
        super()._before_backward(**kwargs)
        if self.domain_power != 0:
            self.loss /= (self.replay.memory.n_domains + 1) ** self.domain_power

    def check_model_and_optimizer(self, **kwargs: Any) -> None:
        """Adapt model and optimizer to the domain."""
        reset = {"reset_optimizer_state": self.reset_optimizer}
        super().check_model_and_optimizer(**(reset | kwargs))


__all__ = ["UDIL"]

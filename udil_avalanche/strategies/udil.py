"""Unified Domain Incremental Learning."""

from collections.abc import Sequence
from typing import Any

from avalanche.core import BasePlugin
from avalanche.training.templates import SupervisedTemplate
from torch import nn
from torch.optim import Optimizer

from udil_avalanche.losses import objective_scale
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
from udil_avalanche.plugins.udil.omega import AdaptiveOmega, SolvedOmega
from udil_avalanche.theory.unification import Preset

PAPER: dict[str, Any] = {
    "stratified_memory": False,
    "c": 1.0,
    "solved": False,
    "honest": False,
    "gated": False,
    "own_history": False,
    "balanced": False,
    "distillation_temperature": 1.0,
    "distillation_doubt": 0.0,
    "lambda_d": 0.1,
    "lambda_p": 1.0,
    "lambda_s": 0.01,
    "contrast_memory": True,
    "relative": False,
    "lr_discriminator": 1e-4,
    "hidden_discriminator": 800,
}
"""The arguments of :class:`UDIL` for the paper's formulas to the letter. C and the
weights differ from benchmark to benchmark in the paper; these are in the middle."""


class UDIL(SupervisedTemplate):  # type: ignore[misc]
    r"""Unified Domain Incremental Learning (Shi and Wang, NeurIPS 2023,
    https://arxiv.org/abs/2310.12244).

    Algorithm 1 of the paper as a composition of plugins. ``strategies/reference.py``
    has the same as a plain loop. In each step of domain t > 1:

    1. :class:`BalancedReplayPlugin` appends samples of the past domains to the
       mini-batch. One forward pass through h = p o e serves all that follows.
    2. :class:`DiscriminatorPlugin` takes the discriminator's step on V_d.
    3. :class:`AdaptiveCoefficientsPlugin` takes Omega's step on V_0-1 and computes V_l.
    4. The model takes its step on the whole
       :func:`~udil_avalanche.losses.objective`: each plugin adds its term.

    After the domain, :class:`HistoryModelPlugin` keeps H_t, and the replay plugin
    rebalances the memory. The first domain is plain training with V_s.

    Domains are told apart by the experiences that they come from: ``train`` on the same
    experience again, or on further parts of it (Avalanche's online streams), goes on
    with the last domain, see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`.

    The defaults are not the paper's formulas to the letter: they are what was best on
    data of many kinds, see ``docs/udil.md``. :data:`PAPER` has the arguments that give
    the paper's.

    A term whose weight is 0 is left out and costs nothing. The discriminator is also
    left out if a preset fixes beta at 0, as beta weights its loss.

    :param model: h = p o e.
    :param optimizer: the model's optimizer.
    :param encoder: name of the model's sub-module that is its encoder e.
    :param mem_size: \|M\|, the number of samples kept over all past domains.
    :param batch_size_mem: memory samples in each mini-batch.
    :param stratified_memory: keep each domain's class frequencies in the memory.
    :param c: C, weight of the generalisation term in V_0-1. A larger C moves weight
        from the memory's few samples to the current domain's many (beta). ``None`` is
        the square root of \|M\|.
    :param solved: Omega minimises V_0-1 (:class:`SolvedOmega`); otherwise it takes the
        paper's gradient steps.
    :param honest: estimate errors and divergences on samples that were left out, see
        :class:`AdaptiveCoefficientsPlugin`.
    :param gated: the cross-domain term counts for each sample as far as H_{t-1} is
        right about it, see :func:`~udil_avalanche.losses.history_gate`.
    :param own_history: distil the memory of domain i from H_i instead of from H_{t-1},
        see :class:`HistoryModelPlugin`.
    :param balanced: weigh the past by how much of the current domain is known, see
        :func:`~udil_avalanche.losses.past_scale`, and V_s by how much is not.
    :param distillation_temperature: temperature of the distillations; the paper's
        formula has 1.
    :param distillation_doubt: when a domain begins, raise it until the history model's
        answers on the memory leave this share of the probability, on average, to other
        classes than the likeliest, see
        :func:`~udil_avalanche.losses.telling_temperature`; 0: never.
    :param lambda_d: weight of the adversarial alignment V_d.
    :param lambda_p: weight of the past-embedding distillation V_p.
    :param lambda_s: weight of the supervised contrastive loss V_s.
    :param contrast_memory: V_s compares the samples of all domains as in the paper;
        otherwise those of the current domain, see :class:`SupConPlugin`.
    :param relative: measure the distances of V_p and V_s in units of the embeddings'
        :func:`~udil_avalanche.losses.spread`, and align gently, see
        :class:`DiscriminatorPlugin`.
    :param temperature: divides the squared distances in V_s; the paper's formula has 1.
    :param cross_domain_threshold: leave the cross-domain term out of V_l in every
        mini-batch where it is larger than this; ``None`` never leaves it out.
    :param lr_discriminator: learning rate of the discriminator's Adam.
    :param lr_coefficients: learning rate of the Adam that learns Omega, if it is not
        solved.
    :param hidden_discriminator: width of the discriminator's hidden layers.
    :param preset: a method of the unification table, whose coefficients fix Omega.
    :param objective_t_power: divide the objective by t to this power. The paper sums
        over domains (0); 1 averages over them. It matters to SGD, whose steps would
        otherwise grow with t, but not to Adam.
    :param reset_optimizer: reset the state of the model's optimizer before each domain.
    :param flip: mirrors the images of every mini-batch at random.
    :param train_mb_size: samples of the current domain in each mini-batch.
    :param eval_mb_size: mini-batch size for evaluation; ``train_mb_size`` by default.
    :param plugins: further plugins, called after those of UDIL.
    :param kwargs: see Avalanche's ``SupervisedTemplate``.
    """

    def __init__(
        self,
        *,
        model: nn.Module,
        optimizer: Optimizer,
        encoder: str = "encoder",
        mem_size: int = 400,
        batch_size_mem: int = 128,
        stratified_memory: bool = True,
        c: float | None = None,
        solved: bool = True,
        honest: bool = True,
        gated: bool = True,
        own_history: bool = True,
        balanced: bool = True,
        distillation_temperature: float = 2.0,
        distillation_doubt: float = 0.15,
        lambda_d: float = 0.0,
        lambda_p: float = 0.03,
        lambda_s: float = 0.0,
        contrast_memory: bool = False,
        relative: bool = True,
        temperature: float = 1.0,
        cross_domain_threshold: float | None = None,
        lr_discriminator: float = 1e-3,
        lr_coefficients: float = 2e-3,
        hidden_discriminator: int = 64,
        preset: Preset | None = None,
        objective_t_power: float = 0.0,
        reset_optimizer: bool = True,
        flip: RandomFlipPlugin | None = None,
        train_mb_size: int = 128,
        eval_mb_size: int | None = None,
        plugins: Sequence[BasePlugin] | None = None,
        **kwargs: Any,
    ) -> None:
        if min(c or 0, lambda_d, lambda_p, lambda_s) < 0:
            raise ValueError(
                "The weights c, lambda_d, lambda_p and lambda_s must not be negative."
            )
        self.objective_t_power = objective_t_power
        self.balanced = balanced
        self.reset_optimizer = reset_optimizer
        omega = (
            SolvedOmega()
            if solved and preset is None
            else AdaptiveOmega(lr_coefficients, preset.coefficients if preset else None)
        )
        self.replay = BalancedReplayPlugin(mem_size, batch_size_mem, stratified_memory)
        self.history = HistoryModelPlugin(self.replay, encoder, flip, own_history)
        uses_beta = preset is None or preset.coefficients(2)[1] > 0
        self.discriminator = (
            DiscriminatorPlugin(
                self.replay,
                lambda_d=lambda_d,
                lr=lr_discriminator,
                hidden=hidden_discriminator,
                omega=omega,
                gentle=relative,
                encoder=encoder,
            )
            if lambda_d > 0 and uses_beta
            else None
        )
        self.coefficients = AdaptiveCoefficientsPlugin(
            self.replay,
            self.history,
            self.discriminator,
            omega=omega,
            c=c,
            honest=honest,
            gated=gated,
            balanced=balanced,
            temperature=distillation_temperature,
            doubt=distillation_doubt,
            cross_domain_threshold=cross_domain_threshold,
            multilabel=preset is not None and preset.multilabel,
        )
        distillation = EmbeddingDistillationPlugin(
            self.replay,
            self.history,
            lambda_p=lambda_p,
            relative=relative,
            encoder=encoder,
        )
        supcon = SupConPlugin(
            lambda_s=lambda_s,
            temperature=temperature,
            relative=relative,
            current_only=None if contrast_memory else self.replay,
            balance=self.coefficients if balanced else None,
            encoder=encoder,
        )
        parts = [
            TensorLoaderPlugin(),
            self.replay,
            flip,
            self.history,
            self.discriminator,
            self.coefficients,
            distillation if lambda_p > 0 else None,
            supcon if lambda_s > 0 else None,
            *(plugins or []),
        ]
        super().__init__(
            model=model,
            optimizer=optimizer,
            criterion=self.coefficients,
            train_mb_size=train_mb_size,
            eval_mb_size=eval_mb_size,
            plugins=[part for part in parts if part is not None],
            **kwargs,
        )

    def _before_backward(self, **kwargs: Any) -> None:
        super()._before_backward(**kwargs)
        t = self.replay.memory.n_domains + 1
        if self.balanced and t > 1:
            self.loss *= objective_scale(t, self.coefficients.scale)
        self.loss /= t**self.objective_t_power

    def check_model_and_optimizer(self, **kwargs: Any) -> None:
        """Adapt model and optimizer to the domain."""
        is_new = not self.replay.domain.continues(self.experience)
        reset = {"reset_optimizer_state": self.reset_optimizer and is_new}
        super().check_model_and_optimizer(**(reset | kwargs))

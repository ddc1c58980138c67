"""Averages of a model over its training, and their evaluation in its place."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn


class EmaModel:
    """An exponential moving average of a model's weights.

    It starts as a copy of the model, in evaluation mode. Running statistics, such as
    those of BatchNorm, are averaged with the weights that they belong to.

    :param alpha: decay; in step n it is min(1 - 1 / (n + 1), alpha), so that the first
        average is one of equal weights.
    :param freq: probability of an update in each step.
    """

    def __init__(self, alpha: float, freq: float = 1.0) -> None:
        if not 0 <= alpha <= 1 or not 0 <= freq <= 1:
            raise ValueError(
                "The decay and the update frequency of an average must be between 0 "
                f"and 1, but they are {alpha} and {freq}."
            )
        self.alpha = alpha
        self.freq = freq
        self.model: nn.Module | None = None
        """The average; ``None`` before training."""
        self.step = 0
        """Steps of training so far."""

    def __call__(self, x: Tensor, task_labels: Tensor | None = None) -> Tensor:
        """The logits of the average.

        :param x: inputs.
        :param task_labels: their task labels, for models that need them.
        """
        if self.model is None:
            raise RuntimeError("There is no average of the model before training.")
        with torch.no_grad():
            return avalanche_forward(self.model, x, task_labels)

    def start(self, model: nn.Module) -> None:
        """Copy the model, unless there is an average already.

        :param model: the model that is trained.
        """
        if self.model is None:
            self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take a step of training into account, or not, as chance will have it.

        :param model: the model after the step.
        """
        assert self.model is not None
        self.step += 1
        if self.freq < 1 and torch.rand(()) >= self.freq:
            return
        weight = 1 - min(1 - 1 / (self.step + 1), self.alpha)
        torch._foreach_lerp_(
            list(self.model.parameters()), list(model.parameters()), weight
        )
        for mine, new in zip(self.model.buffers(), model.buffers(), strict=True):
            if mine.is_floating_point():
                mine.lerp_(new, weight)
            else:
                mine.copy_(new)

    def state_dict(self) -> dict[str, Any]:
        """The average and how long it has been taken."""
        weights = None if self.model is None else self.model.state_dict()
        return {"model": weights, "step": self.step}

    def load_state_dict(self, state: dict[str, Any], model: nn.Module) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param model: the model that is trained.
        """
        self.model, self.step = None, state["step"]
        if state["model"] is not None:
            self.start(model)
            assert self.model is not None
            self.model.load_state_dict(state["model"])


class StableModelPlugin(SupervisedPlugin):
    """Keeps an average of the model, the stable model, and has it evaluated in the
    model's place.

    :param alpha: decay of the average, see :class:`EmaModel`.
    :param freq: probability of its update in each step.
    """

    def __init__(self, alpha: float, freq: float = 1.0) -> None:
        super().__init__()
        self.stable = EmaModel(alpha, freq)
        self._working_model: nn.Module | None = None

    def before_training(self, strategy: Any, **kwargs: Any) -> None:
        """Take the working model back if an evaluation was broken off."""
        if self._working_model is not None:
            strategy.model.eval()
            self._working_model.train()
            self.after_eval(strategy)

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Start the average with the first domain."""
        self.stable.start(strategy.model)

    def after_update(self, strategy: Any, **kwargs: Any) -> None:
        """Update the average."""
        self.stable.update(strategy.model)

    def before_eval(self, strategy: Any, **kwargs: Any) -> None:
        """Put the stable model in the place of the working model."""
        if self.stable.model is not None and self._working_model is None:
            self._working_model = strategy.model
            strategy.model = self.stable.model

    def after_eval(self, strategy: Any, **kwargs: Any) -> None:
        """Put the working model back."""
        if self._working_model is not None:
            strategy.model = self._working_model
            self._working_model = None

    def state_dict(self) -> dict[str, Any]:
        """The stable model."""
        return {"stable": self.stable.state_dict()}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, whose model is the one that is averaged.
        """
        self.stable.load_state_dict(state["stable"], strategy.model)


def evaluated_model(strategy: Any) -> nn.Module:
    """The model that an evaluation of the strategy tests: the stable model if one of
    the plugins keeps one, else the strategy's own.

    :param strategy: any strategy of Avalanche.
    """
    for plugin in strategy.plugins:
        if isinstance(plugin, StableModelPlugin) and plugin.stable.model is not None:
            return plugin.stable.model
    return strategy.model


__all__ = ["EmaModel", "StableModelPlugin", "evaluated_model"]

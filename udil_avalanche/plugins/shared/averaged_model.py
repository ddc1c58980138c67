"""Averages of a model over its training, and their evaluation in its place."""

from typing import Any

import torch
from torch import nn

from udil_avalanche.models.growing import aligned, mask_values
from udil_avalanche.plugins.shared.frozen import FrozenModel, frozen_copy
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.shared.stateful import StatefulPlugin


class EmaModel(FrozenModel):
    """An exponential moving average of a model's weights.

    It starts as a copy of the model, in evaluation mode. Running statistics, such as
    those of BatchNorm, are averaged together with the weights.

    :param alpha: decay; in step n it is min(1 - warmup / (n + warmup), alpha).
    :param freq: probability of an update in each step.
    :param warmup: with 1, all steps have the same weight in the average at first; with
        10 it is over about the last tenth of the steps so far.
    """

    def __init__(self, alpha: float, freq: float = 1.0, warmup: int = 1) -> None:
        if not 0 <= alpha <= 1 or not 0 <= freq <= 1:
            raise ValueError(
                "The decay and the update frequency of an average must be between 0 "
                f"and 1, but they are {alpha} and {freq}."
            )
        self.alpha = alpha
        self.freq = freq
        self.warmup = warmup
        self.step = 0
        """Training steps so far."""

    def start(self, model: nn.Module) -> None:
        """Copy the model, unless there is an average already. If the model has grown,
        the average gets its new weights and keeps what it has of the others.

        :param model: the model that is trained.
        """
        if self.model is None:
            self.model = frozen_copy(model)
        elif _shapes(self.model) != _shapes(model):
            known, grown = self.model.state_dict(), frozen_copy(model)
            grown.load_state_dict(
                {
                    name: aligned(known.get(name, values), values)
                    for name, values in grown.state_dict().items()
                }
            )
            self.model = grown
        if mask_values(model):
            # Classes that the model meets now are no longer masked.
            for mine, new in zip(self.model.buffers(), model.buffers(), strict=True):
                if not mine.is_floating_point():
                    mine.copy_(new)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Count a training step and, with probability ``freq``, update the average.

        :param model: the model after the step.
        """
        assert self.model is not None
        self.step += 1
        if self.freq < 1 and torch.rand(()) >= self.freq:
            return
        weight = 1 - min(1 - self.warmup / (self.step + self.warmup), self.alpha)
        torch._foreach_lerp_(
            list(self.model.parameters()), list(model.parameters()), weight
        )
        for mine, new in zip(self.model.buffers(), model.buffers(), strict=True):
            if mine.is_floating_point():
                mine.lerp_(new, weight)
            else:
                mine.copy_(new)


class StableModelPlugin(StatefulPlugin):
    """Keeps averages of the model, and evaluates the stable one in the model's place.

    :param stable: the average to evaluate.
    :param others: further averages, by name.
    """

    def __init__(self, stable: EmaModel, **others: EmaModel) -> None:
        super().__init__()
        self.stable = stable
        self._averages = {"stable": stable, **others}
        self._working_model: nn.Module | None = None

    def before_training(self, strategy: Strategy, **kwargs: Any) -> None:
        """Put the working model back if an evaluation was interrupted.

        :raises ValueError: if another plugin also has its average evaluated.
        """
        super().before_training(strategy, **kwargs)
        for other in strategy.plugins:
            if isinstance(other, StableModelPlugin) and other is not self:
                raise ValueError(
                    f"{type(self).__name__} and {type(other).__name__} both keep an "
                    "average of the model to evaluate in its place: use one of them."
                )
        if self._working_model is not None:
            strategy.model.eval()
            self._working_model.train()
            self.after_eval(strategy)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Start the averages in the first domain."""
        for average in self._averages.values():
            average.start(strategy.model)

    def after_update(self, strategy: Strategy, **kwargs: Any) -> None:
        """Update the averages."""
        for average in self._averages.values():
            average.update(strategy.model)

    def before_eval(self, strategy: Strategy, **kwargs: Any) -> None:
        """Replace the working model by the stable model."""
        if self.stable.model is not None and self._working_model is None:
            self._working_model = strategy.model
            strategy.model = self.stable.model

    def after_eval(self, strategy: Strategy, **kwargs: Any) -> None:
        """Put the working model back."""
        if self._working_model is not None:
            strategy.model = self._working_model
            self._working_model = None

    def state_dict(self) -> dict[str, Any]:
        """The averages, and the attributes to save."""
        averages = {
            name: {"model": average.weights(), "step": average.step}
            for name, average in self._averages.items()
        }
        return averages | super().state_dict()

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, with its model already loaded.
        """
        super().load_state_dict(state, strategy)
        for name, average in self._averages.items():
            average.load_weights(state[name]["model"], strategy.model)
            average.step = state[name]["step"]


def evaluated_model(strategy: Strategy) -> nn.Module:
    """The model that the strategy evaluates: the stable model if one of its plugins
    keeps one, else the model that it trains.

    :param strategy: any strategy of Avalanche.
    """
    for plugin in strategy.plugins:
        if isinstance(plugin, StableModelPlugin) and plugin.stable.model is not None:
            return plugin.stable.model
    return strategy.model


def _shapes(model: nn.Module) -> dict[str, torch.Size]:
    return {name: values.shape for name, values in model.state_dict().items()}

"""Complementary Learning System based Experience Replay."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.plugins.shared.averaged_model import EmaModel, StableModelPlugin
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin


class CLSERPlugin(StableModelPlugin):
    """Complementary Learning System based Experience Replay (Arani et al., ICLR 2022,
    https://arxiv.org/abs/2201.12604).

    Two averages of the model, a plastic one that follows it closely and a stable one
    that follows it slowly, give the target logits on the memory: for each sample, those
    of the average that gives its true class the higher probability. The mean squared
    distance to them is added to the loss of ER. The stable model is evaluated.

    Deviations from the paper:

    1. The memory is UDIL's, balanced over the past domains and filled after each of
       them, unless ``replay`` has a reservoir.
    2. The averages are in evaluation mode, and BatchNorm's statistics are averaged with
       the weights. In the authors' code they run in training mode and compute their own
       statistics from the memory.
    3. The squared distance is averaged over the classes as well, as in the authors'
       code, for which the published weights were chosen.

    :param replay: provides the samples of past domains.
    :param reg_weight: lambda, weight of the distance to the target logits.
    :param stable_freq: r_S, probability of an update of the stable model in each step.
    :param stable_alpha: alpha_S, its decay, see
        :class:`~udil_avalanche.plugins.shared.averaged_model.EmaModel`.
    :param plastic_freq: r_P, probability of an update of the plastic model.
    :param plastic_alpha: alpha_P, its decay, usually not above ``stable_alpha``.
    """

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        *,
        reg_weight: float = 0.15,
        stable_freq: float = 0.8,
        stable_alpha: float = 0.99,
        plastic_freq: float = 1.0,
        plastic_alpha: float = 0.95,
    ) -> None:
        self.plastic = EmaModel(plastic_alpha, plastic_freq)
        super().__init__(EmaModel(stable_alpha, stable_freq), plastic=self.plastic)
        self.replay = replay
        self.reg_weight = reg_weight

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the distance to the averages' logits to the loss."""
        batch = self.replay.batch
        if batch is None:
            return
        n = batch.n_current
        x, y, tasks = strategy.mb_x[n:], strategy.mb_y[n:], strategy.mbatch[-1][n:]
        target = more_confident_logits(self.stable(x, tasks), self.plastic(x, tasks), y)
        distance = F.mse_loss(strategy.mb_output[n:], target)
        strategy.loss += self.reg_weight * distance
        self.terms = {"consistency": distance.detach()}


def more_confident_logits(stable: Tensor, plastic: Tensor, labels: Tensor) -> Tensor:
    """For each sample the logits that give its true class the higher probability.

    :param stable: logits of the stable model, one row per sample.
    :param plastic: logits of the plastic model, taken where both probabilities are
        equal.
    :param labels: true classes.
    """

    def confidence(logits: Tensor) -> Tensor:
        return logits.softmax(dim=1).gather(1, labels[:, None])

    return torch.where(confidence(stable) > confidence(plastic), stable, plastic)

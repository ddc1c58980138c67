"""Error Sensitivity Modulation based Experience Replay."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.losses import classification_loss
from udil_avalanche.plugins.shared.averaged_model import EmaModel, StableModelPlugin
from udil_avalanche.plugins.shared.current_domain import CurrentDomain
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin


class ESMERPlugin(StableModelPlugin):
    """Error Sensitivity Modulation based Experience Replay (Sarfraz et al., ICLR 2023,
    https://arxiv.org/abs/2302.11344).

    Learns more from small, consistent errors than from large, sudden ones: a current
    sample whose loss l under the stable model, an average of the model, exceeds
    ``loss_margin`` times the running mean mu of such losses has weight mu / l in the
    loss. The memory adds its cross-entropy and the mean squared distance of the logits
    to those of the stable model. The stable model is evaluated.

    It is both a plugin and a criterion: give it to the strategy as ``criterion=...``.
    In evaluation it is the cross-entropy.

    Deviations from the paper:

    1. The memory is UDIL's, balanced over the past domains and filled after each of
       them, unless ``replay`` has a reservoir; the paper's memory only accepts samples
       with a small loss.
    2. The warm-up at the beginning of every domain is a fraction of its steps instead
       of one epoch, which would be the whole domain when training for one epoch.
    3. The running mean starts at the first mini-batch's mean. In the authors' code it
       starts at 0, which at first shrinks the weight of almost every sample to a
       hundredth.
    4. The average is in evaluation mode, and BatchNorm's statistics are averaged with
       the weights. In the authors' code it runs in training mode and computes its own
       statistics.
    5. The squared distance is averaged over the classes as well, as in the authors'
       code, for which the published weights were chosen.

    :param replay: provides the samples of past domains.
    :param reg_weight: gamma, weight of the distance to the stable model's logits.
    :param stable_freq: r, probability of an update of the stable model in each step.
    :param stable_alpha: alpha, its decay, see
        :class:`~udil_avalanche.plugins.shared.averaged_model.EmaModel`.
    :param loss_margin: beta; losses up to this many times the mean have weight 1.
    :param loss_alpha: alpha_l, decay of the running mean.
    :param std_margin: losses that are more than this many standard deviations above
        their mini-batch's mean are outliers and left out of the running mean.
    :param warmup: fraction of each domain's steps before the running mean is updated.
    """

    saved = ("loss_mean", "loss_updates", "warmup_steps")

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        *,
        reg_weight: float = 0.15,
        stable_freq: float = 1.0,
        stable_alpha: float = 0.99,
        loss_margin: float = 1.5,
        loss_alpha: float = 0.99,
        std_margin: float = 1.0,
        warmup: float = 0.1,
    ) -> None:
        super().__init__(EmaModel(stable_alpha, stable_freq))
        if not 0 <= loss_alpha <= 1 or not 0 <= warmup <= 1:
            raise ValueError(
                "loss_alpha and warmup must be between 0 and 1, but they are "
                f"{loss_alpha} and {warmup}."
            )
        self.replay = replay
        self.reg_weight = reg_weight
        self.loss_margin = loss_margin
        self.loss_alpha = loss_alpha
        self.std_margin = std_margin
        self.warmup = warmup
        self.loss_mean = torch.zeros(())
        """mu, the running mean of the losses under the stable model."""
        self.loss_updates = 0
        """Updates of the running mean so far."""
        self.warmup_steps = 0
        """Steps of the warm-up that are left."""
        self.domain = CurrentDomain()
        """The domain in training. If the last one goes on, it is not warmed up again.
        """
        self._stable_logits: Tensor | None = None
        self._weights = torch.zeros(0)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Start the domain's warm-up and, in the first domain, the average."""
        super().before_training_exp(strategy, **kwargs)
        if not self.domain.begin(strategy.experience):
            steps = strategy.train_epochs * len(strategy.dataloader)
            self.warmup_steps = round(self.warmup * steps)

    @torch.no_grad()
    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Compute the stable model's losses on the current samples."""
        n = self.replay.n_current(strategy)
        self._stable_logits = self.stable(strategy.mb_x, strategy.mbatch[-1])
        losses = classification_loss(
            self._stable_logits[:n], strategy.mb_y[:n], reduction="none"
        )
        self._weights = self.error_weights(losses)
        self.terms = {"error_weight": self._weights.mean()}
        if self.warmup_steps > 0:
            self.warmup_steps -= 1
        else:
            self.update_loss_mean(losses)
            self.terms["loss_mean"] = self.loss_mean

    def error_weights(self, losses: Tensor) -> Tensor:
        """The weight of each sample: less than 1 if its error is large compared with
        earlier ones.

        :param losses: one loss under the stable model per sample.
        """
        if self.loss_updates == 0:
            return torch.ones_like(losses)
        large = losses > self.loss_margin * self.loss_mean
        return torch.where(large, self.loss_mean / losses, 1.0)

    def update_loss_mean(self, losses: Tensor) -> None:
        """Move the running mean towards the mean of the losses without outliers.

        :param losses: one loss under the stable model per sample.
        """
        limit = losses.mean() + self.std_margin * losses.std(correction=0)
        # Rounding may put equal losses above their own mean.
        usual = losses <= limit.maximum(losses.min())
        self.loss_updates += 1
        decay = min(1 - 1 / self.loss_updates, self.loss_alpha)
        self.loss_mean = decay * self.loss_mean + (1 - decay) * losses[usual].mean()

    def __call__(self, mb_output: Tensor, mb_y: Tensor) -> Tensor:
        """The loss of a training mini-batch, or the cross-entropy in evaluation.

        :param mb_output: logits of the mini-batch.
        :param mb_y: its true classes.
        """
        if self._stable_logits is None:
            return classification_loss(mb_output, mb_y)
        n = len(self._weights)
        losses = classification_loss(mb_output, mb_y, reduction="none")
        loss = (self._weights * losses[:n]).mean()
        if len(losses) > n:
            distance = F.mse_loss(mb_output[n:], self._stable_logits[n:])
            loss = loss + losses[n:].mean() + self.reg_weight * distance
            self.terms["consistency"] = distance.detach()
        return loss

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Forget the mini-batch, so that an evaluation is not mistaken for training."""
        self._stable_logits = None

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Count the domain as learned."""
        self.domain.finish(strategy.experience)

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, with its model already loaded.
        """
        super().load_state_dict(state, strategy)
        self.domain.forget()

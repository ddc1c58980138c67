"""Error Sensitivity Modulation based Experience Replay."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.losses import classification_loss
from udil_avalanche.plugins.shared.averaged_model import StableModelPlugin
from udil_avalanche.plugins.udil.balanced_replay import BalancedReplayPlugin


class ESMERPlugin(StableModelPlugin):
    """Error Sensitivity Modulation based Experience Replay (Sarfraz et al., ICLR 2023,
    https://arxiv.org/abs/2302.11344).

    Learns more from small, consistent errors than from large, sudden ones: a current
    sample whose loss l under the stable model, an average of the model, exceeds
    ``loss_margin`` times the running mean mu of such losses counts mu / l in the loss.
    The memory adds its cross-entropy and the mean squared distance of the logits to
    those of the stable model. The stable model is the one that is evaluated.

    It is a plugin and a criterion at once: give it to the strategy as
    ``criterion=...``. In evaluation it is the cross-entropy.

    Deviations from the paper:

    1. The memory is UDIL's, balanced over the past domains and filled after each of
       them, unless ``replay`` has a reservoir; that of the paper takes in samples with
       a small loss only.
    2. The warm-up at the beginning of every domain is a share of its steps instead of
       one epoch, which would be all there is in training of one epoch.
    3. The running mean starts at the first mean that it sees. In the authors' code it
       starts at 0, which at first shrinks the weight of almost every sample to a
       hundredth.
    4. The average is in evaluation mode, and BatchNorm's statistics are averaged with
       the weights. In the authors' code it runs in training mode and gathers statistics
       of its own.
    5. The squared distance is averaged over the classes as well, as in the authors'
       code, to which the published weights belong.

    :param replay: where the samples of past domains come from.
    :param reg_weight: gamma, weight of the distance to the stable model's logits.
    :param stable_freq: r, probability of an update of the stable model in each step.
    :param stable_alpha: alpha, its decay, see
        :class:`~udil_avalanche.plugins.shared.averaged_model.EmaModel`.
    :param loss_margin: beta, how far above the running mean a loss still counts fully.
    :param loss_alpha: alpha_l, decay of the running mean.
    :param std_margin: losses that are more than this many standard deviations above
        their mini-batch's mean are outliers and left out of the running mean.
    :param warmup: share of the steps on each domain before the running mean follows it.
    """

    def __init__(
        self,
        replay: BalancedReplayPlugin,
        *,
        reg_weight: float = 0.1,
        stable_freq: float = 0.7,
        stable_alpha: float = 0.999,
        loss_margin: float = 1.0,
        loss_alpha: float = 0.99,
        std_margin: float = 1.0,
        warmup: float = 0.1,
    ) -> None:
        super().__init__(stable_alpha, stable_freq)
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
        self.terms: dict[str, Tensor] = {}
        """Losses and weights of the last iteration, for logging."""
        self._warmup_steps = 0
        self._stable_logits: Tensor | None = None
        self._weights = torch.zeros(0)

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Begin the domain's warm-up, and the average with the first domain."""
        super().before_training_exp(strategy, **kwargs)
        steps = strategy.train_epochs * len(strategy.dataloader)
        self._warmup_steps = round(self.warmup * steps)

    @torch.no_grad()
    def after_forward(self, strategy: Any, **kwargs: Any) -> None:
        """Ask the stable model how large the errors on the current samples are."""
        batch = self.replay.batch
        n = len(strategy.mb_y) if batch is None else batch.n_current
        self._stable_logits = self.stable(strategy.mb_x, strategy.mbatch[-1])
        losses = classification_loss(
            self._stable_logits[:n], strategy.mb_y[:n], reduction="none"
        )
        self._weights = self.error_weights(losses)
        self.terms = {"error_weight": self._weights.mean()}
        if self._warmup_steps > 0:
            self._warmup_steps -= 1
        else:
            self.update_loss_mean(losses)
            self.terms["loss_mean"] = self.loss_mean

    def error_weights(self, losses: Tensor) -> Tensor:
        """How much each sample counts: less if its error is large by the standard of
        earlier ones.

        :param losses: one loss under the stable model per sample.
        """
        if self.loss_updates == 0:
            return torch.ones_like(losses)
        large = losses > self.loss_margin * self.loss_mean
        return torch.where(large, self.loss_mean / losses, 1.0)

    def update_loss_mean(self, losses: Tensor) -> None:
        """Move the running mean towards that of the losses that are no outliers.

        :param losses: one loss under the stable model per sample.
        """
        limit = losses.mean() + self.std_margin * losses.std(correction=0)
        # Rounding may put equal losses above their own mean.
        usual = losses <= limit.maximum(losses.min())
        self.loss_updates += 1
        decay = min(1 - 1 / self.loss_updates, self.loss_alpha)
        self.loss_mean = decay * self.loss_mean + (1 - decay) * losses[usual].mean()

    def __call__(self, mb_output: Tensor, mb_y: Tensor) -> Tensor:
        """The loss of a training mini-batch; the cross-entropy on any other.

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

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """Forget the mini-batch, so that no evaluation is taken for training."""
        self._stable_logits = None

    def state_dict(self) -> dict[str, Any]:
        """The average of the model and that of the losses."""
        return {
            **super().state_dict(),
            "loss_mean": self.loss_mean,
            "loss_updates": self.loss_updates,
            "warmup_steps": self._warmup_steps,
        }

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, whose model is the one that is averaged.
        """
        super().load_state_dict(state, strategy)
        self.loss_mean = state["loss_mean"].to(strategy.device)
        self.loss_updates = state["loss_updates"]
        self._warmup_steps = state["warmup_steps"]


__all__ = ["ESMERPlugin"]

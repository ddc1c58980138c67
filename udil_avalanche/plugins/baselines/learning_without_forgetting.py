"""Learning without forgetting."""

from typing import Any

from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor

from udil_avalanche.losses import distillation_loss
from udil_avalanche.plugins.shared.collaborators import require_before
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin


class LwFPlugin(SupervisedPlugin):
    """LwF (Li and Hoiem, Learning without Forgetting, ECCV 2016,
    https://arxiv.org/abs/1606.09282): on the samples of the new domain, which are all
    that there are, the model is to answer as it did before. From the second domain on
    its loss is

    .. math::
        \\ell_t(h) + \\alpha \\, T^2 \\, \\hat\\ell_B(h / T, H_{t-1} / T)

    with the distillation loss of the mini-batch B between logits that the temperature T
    has softened. The teacher :math:`H_{t-1}` is in evaluation mode (that of Avalanche's
    ``LwFPlugin`` stays in training mode, so that its BatchNorm statistics drift).

    Deviations from the paper:

    1. One classifier serves all domains, as they have the same classes: there are no
       heads of past tasks to distil, and nothing new to warm up.
    2. :math:`T^2`, due to Hinton et al. (https://arxiv.org/abs/1503.02531), keeps the
       size of the gradient from falling with T: the paper's loss weight
       :math:`\\lambda_o` is :math:`\\alpha T^2` here.
    3. The teacher answers once before training only if the domain is made of tensors,
       else in each step anew, so that the training data may be augmented.

    :param history: keeps the teacher; it must be one of the strategy's plugins, too,
        before this one.
    :param alpha: :math:`\\alpha`, weight of the distillation in the model's loss.
    :param temperature: T.
    """

    def __init__(
        self,
        history: HistoryModelPlugin,
        *,
        alpha: float = 1.0,
        temperature: float = 2.0,
    ) -> None:
        super().__init__()
        self.history = history
        self.alpha = alpha
        self.temperature = temperature
        self.terms: dict[str, Tensor] = {}
        """The distillation loss of the last iteration, for logging."""

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Refuse to work without a teacher."""
        require_before(strategy, self, self.history)

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Add the distillation to the model's loss."""
        if self.history.model is None:
            return
        T = self.temperature
        answers = self.history.current_logits(strategy, len(strategy.mb_y))
        loss = T**2 * distillation_loss(strategy.mb_output / T, answers / T)
        strategy.loss += self.alpha * loss
        self.terms = {"lwf_distillation": loss.detach()}


__all__ = ["LwFPlugin"]

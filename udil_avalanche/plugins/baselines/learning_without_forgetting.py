"""Learning without forgetting."""

from typing import Any

import torch
from avalanche.models.utils import is_multi_task_module
from torch import Tensor, nn

from udil_avalanche.losses import distillation_loss
from udil_avalanche.plugins.shared.checks import require_before
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.plugins.udil.history_model import HistoryModelPlugin


class LwFPlugin(Plugin):
    r"""LwF (Li and Hoiem, Learning without Forgetting, ECCV 2016,
    https://arxiv.org/abs/1606.09282): the model should keep its earlier outputs on the
    samples of the new domain, as no others are available. From the second domain on its
    loss is

    .. math::
        \ell_t(h) + \alpha \, T^2 \, \hat\ell_B(h / T, H_{t-1} / T)

    with the distillation loss of the mini-batch B between logits softened by the
    temperature T. The teacher :math:`H_{t-1}` is in evaluation mode. (In Avalanche's
    ``LwFPlugin`` it stays in training mode, so that its BatchNorm statistics drift.)

    Deviations from the paper:

    1. One classifier serves all domains, as they have the same classes: there are no
       heads of past tasks to distil, and no new head to warm up. If the model has a
       head for each task nevertheless, all heads that the teacher has are distilled; if
       it grows, the classes that the teacher knows are.
    2. :math:`T^2` (Hinton et al., https://arxiv.org/abs/1503.02531) keeps the gradient
       from shrinking as T grows: the paper's loss weight
       :math:`\lambda_o` is :math:`\alpha T^2` here.
    3. The teacher's outputs are computed once, before training, only if the domain is
       made of tensors. Otherwise they are computed in each step, so that the training
       data may be augmented.

    :param history: keeps the teacher; it must also be one of the strategy's plugins,
        before this one.
    :param alpha: :math:`\alpha`, weight of the distillation in the model's loss.
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

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Check that the teacher's plugin comes before it."""
        require_before(strategy, self, self.history)

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the distillation to the model's loss."""
        if self.history.model is None:
            return
        loss = torch.stack(
            [
                self._distilled(logits, teacher)
                for logits, teacher in self._outputs(strategy, self.history.model)
            ]
        ).sum()
        strategy.loss += self.alpha * loss
        self.terms = {"lwf_distillation": loss.detach()}

    def _outputs(
        self, strategy: Strategy, teacher: nn.Module
    ) -> list[tuple[Tensor, Tensor]]:
        """The logits of the model and of the teacher, for each head that the teacher
        has."""
        if not is_multi_task_module(teacher):
            known = self.history.current_logits(strategy, len(strategy.mb_y))
            return [(strategy.mb_output, known)]
        own: Any = forward(strategy.model, strategy.mb_x, None)
        with torch.no_grad():
            taught: Any = forward(teacher, strategy.mb_x, None)
        return [(own[task], logits) for task, logits in taught.items()]

    def _distilled(self, logits: Tensor, teacher: Tensor) -> Tensor:
        T, known = self.temperature, logits[:, : teacher.shape[1]]
        return T**2 * distillation_loss(known / T, teacher / T)

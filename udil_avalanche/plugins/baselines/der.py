"""Dark Experience Replay++."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.models.growing import known_outputs
from udil_avalanche.plugins.shared.checks import positive
from udil_avalanche.plugins.shared.frozen import forward, frozen_copy
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin
from udil_avalanche.plugins.shared.plugin import Strategy


class DERPlugin(MemoryPlugin):
    r"""Dark Experience Replay++ (Buzzega et al., NeurIPS 2020,
    https://arxiv.org/abs/2004.07211).

    Every step adds two terms to the strategy's own loss on the current samples, on two
    independent draws from the memory: alpha times the squared distance between the
    logits and those stored with the samples, and beta times the loss on their labels.
    With beta = 0 it is DER. One forward pass serves all three. After it the mini-batch
    holds only the current samples again, so that any criterion can be used.

    Deviations from the paper:

    1. The memory is UDIL's, \|M\| samples divided between the past domains and chosen
       at random after each domain, unless ``reservoir`` is set. The stored logits are
       those of the model at that time, in evaluation mode, and never change.
    2. The squared distance is averaged over the classes as well, as in the authors'
       code, for which the published values of alpha were chosen.

    :param mem_size: \|M\|, samples over all domains.
    :param alpha: weight of the distance to the stored logits.
    :param beta: weight of the loss on the labels.
    :param batch_size_mem: memory samples in each of the two draws.
    :param stratified: keep a domain's class frequencies in its part of the memory.
    :param reservoir: fill the memory by reservoir sampling instead, as the paper does,
        with the logits of the step in which a sample is seen.
    """

    needs_mini_batch = True

    def __init__(
        self,
        mem_size: int = 400,
        *,
        alpha: float = 0.5,
        beta: float = 1.0,
        batch_size_mem: int = 128,
        stratified: bool = False,
        reservoir: bool = False,
    ) -> None:
        super().__init__(mem_size, stratified, reservoir)
        self.alpha = alpha
        self.beta = beta
        self.batch_size_mem = positive("batch_size_mem", batch_size_mem)
        self._draws: tuple[Tensor, ...] = ()

    def annotations(self, strategy: Strategy, fields: list[Tensor]) -> list[Tensor]:
        """The logits of the model as it is when the samples enter the memory."""
        if self.memory.updated_every_step:
            logits = strategy.mb_output.detach()
        else:
            with torch.no_grad():
                logits = forward(frozen_copy(strategy.model), fields[0], fields[-1])
        return [known_outputs(strategy.model, logits)]

    def before_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Append two memory batches to the mini-batch."""
        if len(self.memory) > 0:
            size = self.batch_size_mem
            self._draws = (self.memory.sample(size), self.memory.sample(size))
            self.append(strategy, *self._draws)

    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the loss on the memory batches, and remove them from the mini-batch."""
        if not self._draws:
            return
        first, second = self._draws
        n_current = len(strategy.mb_y) - len(first) - len(second)
        sizes = [n_current, len(first), len(second)]
        current, first_logits, second_logits = torch.split(strategy.mb_output, sizes)

        stored_logits = self.memory.fields[-1][first]
        logits_loss = _distance(first_logits, stored_logits)
        labels_loss = strategy._criterion(second_logits, self.memory.labels[second])
        strategy.loss += self.alpha * logits_loss + self.beta * labels_loss
        self.terms = {
            "stored_logits": logits_loss.detach(),
            "stored_labels": labels_loss.detach(),
        }

        strategy.mb_output = current
        strategy.mbatch = [field[:n_current] for field in strategy.mbatch]
        self._draws = ()


def _distance(logits: Tensor, stored: Tensor) -> Tensor:
    """The mean squared distance, over the classes that the model had when the logits
    were stored. Those of classes that came later are NaN."""
    if logits.shape[1] == stored.shape[1] and not stored.isnan().any():
        return F.mse_loss(logits, stored)
    known = ~stored.isnan()
    return F.mse_loss(logits[:, : stored.shape[1]][known], stored[known])

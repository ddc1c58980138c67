"""Dark Experience Replay++."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.memory.reservoir import ReservoirMemory
from udil_avalanche.plugins.shared.memory_plugin import MemoryPlugin


class DERPlugin(MemoryPlugin):
    """Dark Experience Replay++ (Buzzega et al., NeurIPS 2020,
    https://arxiv.org/abs/2004.07211).

    Every step adds two terms to the strategy's own loss on the current samples, on two
    independent draws from the memory: alpha times the squared distance between the
    logits and those that were stored with the samples, and beta times the loss on their
    labels. With beta = 0 it is DER. One forward pass serves all three; after it the
    mini-batch is that of the current domain again, whatever the criterion.

    Deviations from the paper:

    1. The memory is UDIL's, \\|M\\| samples shared out between the past domains and
       chosen at random after each domain, unless ``reservoir`` says otherwise. The
       logits are those of the model at that time, in evaluation mode, and stay what
       they were.
    2. The squared distance is averaged over the classes as well, as in the authors'
       code, to which the published alpha belong.

    :param mem_size: \\|M\\|, samples over all domains.
    :param alpha: weight of the distance to the stored logits.
    :param beta: weight of the loss on the labels.
    :param batch_size_mem: memory samples in each of the two draws.
    :param class_balanced: share a domain's quota out evenly between its classes.
    :param reservoir: fill the memory by reservoir sampling instead, as the paper does,
        with the logits of the step in which a sample is seen.
    """

    def __init__(
        self,
        mem_size: int = 400,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        batch_size_mem: int = 128,
        class_balanced: bool = False,
        reservoir: bool = False,
    ) -> None:
        super().__init__(mem_size, class_balanced, reservoir)
        if batch_size_mem < 1:
            raise ValueError(
                f"batch_size_mem must be positive, but it is {batch_size_mem}."
            )
        self.alpha = alpha
        self.beta = beta
        self.batch_size_mem = batch_size_mem
        self.terms: dict[str, Tensor] = {}
        """The two losses on the memory in the last iteration, for logging."""
        self._draws: tuple[Tensor, ...] = ()

    def annotations(self, strategy: Any, fields: list[Tensor]) -> list[Tensor]:
        """The logits of the model as it is when the samples enter the memory."""
        if isinstance(self.memory, ReservoirMemory):
            return [strategy.mb_output.detach()]
        model = copy.deepcopy(strategy.model).eval()
        with torch.no_grad():
            return [avalanche_forward(model, fields[0], fields[-1])]

    def before_forward(self, strategy: Any, **kwargs: Any) -> None:
        """Append two memory batches to the mini-batch."""
        if len(self.memory) == 0:
            return
        size = self.batch_size_mem
        self._draws = (self.memory.sample(size), self.memory.sample(size))
        *fields, _ = self.memory.fields
        strategy.mbatch = [
            torch.cat([field, *(stored[draw] for draw in self._draws)])
            for field, stored in zip(strategy.mbatch, fields, strict=True)
        ]

    def after_forward(self, strategy: Any, **kwargs: Any) -> None:
        """Add the loss on the memory batches, and take them off the mini-batch."""
        if not self._draws:
            return
        first, second = self._draws
        n_current = len(strategy.mb_y) - len(first) - len(second)
        sizes = [n_current, len(first), len(second)]
        current, first_logits, second_logits = strategy.mb_output.split(sizes)

        stored_logits = self.memory.fields[-1][first]
        logits_loss = F.mse_loss(first_logits, stored_logits)
        labels_loss = strategy._criterion(second_logits, self.memory.labels[second])
        strategy.loss += self.alpha * logits_loss + self.beta * labels_loss
        self.terms = {
            "stored_logits": logits_loss.detach(),
            "stored_labels": labels_loss.detach(),
        }

        strategy.mb_output = current
        strategy.mbatch = [field[:n_current] for field in strategy.mbatch]
        self._draws = ()


__all__ = ["DERPlugin"]

"""The history model H_{t-1}."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn

from udil_avalanche.plugins.balanced_replay import BalancedReplayPlugin
from udil_avalanche.plugins.collaborators import require_past_domains_only
from udil_avalanche.plugins.encoder_plugin import EmbeddingTap


class HistoryModelPlugin(SupervisedPlugin):
    """Keeps H_{t-1}, a frozen copy of the model as the last domain left it.

    The copy is in evaluation mode, so that BatchNorm statistics stay as they were and
    Dropout is off (the teacher of Avalanche's ``LwFPlugin`` stays in training mode).
    What it says of the memory does not change during a domain, so it is computed once,
    when the domain begins.

    :param replay: the replay plugin whose memory H_{t-1} is asked about.
    :param encoder: name of the model's sub-module that is its encoder.
    """

    outputs_batch_size = 1024

    def __init__(
        self, replay: BalancedReplayPlugin | None = None, encoder: str = "encoder"
    ) -> None:
        super().__init__()
        if replay is not None:
            require_past_domains_only(self, replay)
        self.replay = replay
        self.encoder = encoder
        self.model: nn.Module | None = None
        """H_{t-1}; ``None`` during the first domain."""
        self.memory_logits = torch.zeros(0)
        """H_{t-1}(x) before the softmax, for every sample of the memory."""
        self.memory_embeddings = torch.zeros(0)
        """E_{t-1}(x) for every sample of the memory."""

    def __call__(self, x: Tensor, task_labels: Tensor | None = None) -> Tensor:
        """The logits of H_{t-1}.

        :param x: inputs.
        :param task_labels: their task labels, for models that need them.
        """
        if self.model is None:
            raise RuntimeError(
                "There is no history model before the first domain ends."
            )
        with torch.no_grad():
            return avalanche_forward(self.model, x, task_labels)

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Ask H_{t-1} about the whole memory."""
        if self.model is None or self.replay is None or len(self.replay.memory) == 0:
            return
        fields = self.replay.memory.fields
        inputs = fields[0].split(self.outputs_batch_size)
        tasks = fields[-1].split(self.outputs_batch_size)
        logits, embeddings = [], []
        for x, task_labels in zip(inputs, tasks, strict=True):
            with EmbeddingTap(self.model, self.encoder) as tap:
                logits.append(self(x, task_labels))
            embeddings.append(tap.embeddings)
        self.memory_logits = torch.cat(logits)
        self.memory_embeddings = torch.cat(embeddings)

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the snapshot H_t."""
        self.model = copy.deepcopy(strategy.model).eval().requires_grad_(False)


__all__ = ["HistoryModelPlugin"]

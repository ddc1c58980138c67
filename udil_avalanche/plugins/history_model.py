"""The history model H_{t-1}."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn

from udil_avalanche.plugins.balanced_replay import BalancedReplayPlugin, MemoryBatch
from udil_avalanche.plugins.collaborators import require_past_domains_only
from udil_avalanche.plugins.encoder_plugin import EmbeddingTap
from udil_avalanche.plugins.random_flip import RandomFlipPlugin


class HistoryModelPlugin(SupervisedPlugin):
    """Keeps H_{t-1}, a frozen copy of the model as the last domain left it.

    The copy is in evaluation mode, so that BatchNorm statistics stay as they were and
    Dropout is off (the teacher of Avalanche's ``LwFPlugin`` stays in training mode).
    What it says of the memory does not change during a domain, so it is computed once,
    when the domain begins.

    :param replay: the replay plugin whose memory H_{t-1} is asked about.
    :param encoder: name of the model's sub-module that is its encoder.
    :param flip: mirrors samples of the memory at random; H_{t-1} is then asked about
        both sides of each.
    """

    outputs_batch_size = 1024
    outputs_batch_values = 2**23
    """Fewer samples are asked about at once if they are large images."""

    def __init__(
        self,
        replay: BalancedReplayPlugin | None = None,
        encoder: str = "encoder",
        flip: RandomFlipPlugin | None = None,
    ) -> None:
        super().__init__()
        if replay is not None:
            require_past_domains_only(self, replay)
        self.replay = replay
        self.encoder = encoder
        self.flip = flip
        self.model: nn.Module | None = None
        """H_{t-1}; ``None`` during the first domain."""
        self.memory_logits = torch.zeros(0)
        """H_{t-1}(x) before the softmax, for every sample of the memory."""
        self.memory_embeddings = torch.zeros(0)
        """E_{t-1}(x) for every sample of the memory."""
        self._mirrored: tuple[Tensor, Tensor] | None = None

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
        inputs = self.replay.memory.fields[0]
        self.memory_logits, self.memory_embeddings = self._answers(inputs)
        if self.flip is not None:
            self._mirrored = self._answers(inputs.flip(-1))

    def _answers(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and embeddings of the memory's samples."""
        assert self.model is not None and self.replay is not None
        size = max(1, self.outputs_batch_values // inputs[0].numel())
        size = min(size, self.outputs_batch_size)
        tasks = self.replay.memory.fields[-1].split(size)
        logits, embeddings = [], []
        for x, task_labels in zip(inputs.split(size), tasks, strict=True):
            with EmbeddingTap(self.model, self.encoder) as tap:
                logits.append(self(x, task_labels))
            embeddings.append(tap.embeddings)
        return torch.cat(logits), torch.cat(embeddings)

    def batch_logits(self, batch: MemoryBatch) -> Tensor:
        """H_{t-1}(x) for a memory batch, as its samples go into the model.

        :param batch: the memory's part of the current mini-batch.
        """
        mirrored = None if self._mirrored is None else self._mirrored[0]
        return self._as_seen(batch, self.memory_logits, mirrored)

    def batch_embeddings(self, batch: MemoryBatch) -> Tensor:
        """E_{t-1}(x) for a memory batch, as its samples go into the model.

        :param batch: the memory's part of the current mini-batch.
        """
        mirrored = None if self._mirrored is None else self._mirrored[1]
        return self._as_seen(batch, self.memory_embeddings, mirrored)

    def _as_seen(
        self, batch: MemoryBatch, plain: Tensor, mirrored: Tensor | None
    ) -> Tensor:
        if mirrored is None or self.flip is None:
            return plain[batch.positions]
        flipped = self.flip.flipped[batch.n_current :, None]
        return torch.where(flipped, mirrored[batch.positions], plain[batch.positions])

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the snapshot H_t."""
        self.model = copy.deepcopy(strategy.model).eval().requires_grad_(False)


__all__ = ["HistoryModelPlugin"]

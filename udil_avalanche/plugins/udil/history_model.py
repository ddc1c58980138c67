"""The history model H_{t-1}."""

import copy
from typing import Any

import torch
from avalanche.models import avalanche_forward
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn

from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader
from udil_avalanche.plugins.shared.collaborators import require_past_domains_only
from udil_avalanche.plugins.shared.encoder_plugin import EmbeddingTap
from udil_avalanche.plugins.training.random_flip import RandomFlipPlugin
from udil_avalanche.plugins.udil.balanced_replay import (
    BalancedReplayPlugin,
    MemoryBatch,
)


class HistoryModelPlugin(SupervisedPlugin):
    """Keeps H_{t-1}, a frozen copy of the model as the last domain left it.

    The copy is in evaluation mode, so that BatchNorm statistics stay as they were and
    Dropout is off (the teacher of Avalanche's ``LwFPlugin`` stays in training mode).
    What it says of the memory does not change during a domain, so it is computed once,
    when the domain begins. The same holds of the domain itself if it is made of tensors
    (:class:`~udil_avalanche.plugins.TensorLoaderPlugin`): see :meth:`current_logits`.

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
        self._loader: TensorLoader | None = None
        self._domain_logits: Tensor | None = None
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

    def current_logits(self, strategy: Any, n_current: int) -> Tensor:
        """The logits of H_{t-1} on the mini-batch's samples of the current domain.

        Those of a domain of tensors are computed when they are first asked for, all at
        once in large batches, and looked up from then on. Where other inputs than the
        domain's own come, from another loader or because they are augmented, H_{t-1}
        is asked in each step.

        :param strategy: the strategy, in a training iteration.
        :param n_current: number of samples of the current domain, the first ones.
        """
        x, task_labels = strategy.mb_x, strategy.mbatch[-1]
        given = None if self._loader is None else self._loader.last
        if given is None or len(given.positions) != n_current or not given.begins(x):
            return self(x[:n_current], task_labels[:n_current])
        assert self._loader is not None
        if self._domain_logits is None:
            self._domain_logits = self._about_domain(self._loader, strategy.device)
        return self._domain_logits[given.positions.to(strategy.device)]

    def _about_domain(self, loader: TensorLoader, device: torch.device) -> Tensor:
        # Always in the same batches: a run that is taken up again gets the same bits.
        everything = torch.arange(len(loader.dataset))
        logits = []
        for positions in everything.split(self.outputs_batch_size):
            x, *_, task_labels = loader.batch(positions)
            logits.append(self(x.to(device), task_labels.to(device)))
        return torch.cat(logits)

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Ask H_{t-1} about the whole memory."""
        loader = strategy.dataloader
        self._loader = loader if isinstance(loader, TensorLoader) else None
        if self.model is None or self.replay is None or len(self.replay.memory) == 0:
            return
        inputs = self.replay.memory.fields[0]
        self.memory_logits, self.memory_embeddings = self._about_memory(inputs)
        if self.flip is not None:
            self._mirrored = self._about_memory(inputs.flip(-1))

    def _about_memory(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
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
            return plain.index_select(0, batch.positions)
        flipped = self.flip.flipped[batch.n_current :, None]
        return torch.where(flipped, mirrored[batch.positions], plain[batch.positions])

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Take the snapshot H_t."""
        self.model = _frozen_copy(strategy.model)
        self._loader, self._domain_logits = None, None

    def state_dict(self) -> dict[str, Any]:
        """The weights of H_{t-1}, from which all else follows."""
        return {"model": None if self.model is None else self.model.state_dict()}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, whose model is one like H_{t-1}.
        """
        self.model, self._domain_logits = None, None
        if state["model"] is not None:
            self.model = _frozen_copy(strategy.model)
            self.model.load_state_dict(state["model"])


def _frozen_copy(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).eval().requires_grad_(False)


__all__ = ["HistoryModelPlugin"]

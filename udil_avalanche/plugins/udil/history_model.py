"""The history model H_{t-1}."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import default_collate

from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.plugins.shared.checks import require_past_domains_only
from udil_avalanche.plugins.shared.encoder_plugin import EmbeddingTap
from udil_avalanche.plugins.shared.frozen import FrozenModel, forward, frozen_copy
from udil_avalanche.plugins.shared.past_plugin import PastPlugin
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.plugins.training.random_flip import RandomFlipPlugin
from udil_avalanche.plugins.udil.balanced_replay import (
    BalancedReplayPlugin,
    MemoryBatch,
)


class DomainSample(NamedTuple):
    """Samples of the current domain, as H_{t-1} sees them."""

    labels: Tensor
    """Their true classes."""

    logits: Tensor
    """H_{t-1}(x), before the softmax."""

    embeddings: Tensor
    """E_{t-1}(x)."""


class HistoryModelPlugin(FrozenModel, PastPlugin):
    """Keeps H_{t-1}, a frozen copy of the model as it was after the last domain.

    The copy is in evaluation mode, so that BatchNorm statistics stay as they were and
    Dropout is off (the teacher of Avalanche's ``LwFPlugin`` stays in training mode).
    Its outputs on the memory do not change during a domain, so they are computed once,
    when the domain begins. The same is true of the domain itself if it is made of
    tensors (:class:`~udil_avalanche.plugins.TensorLoaderPlugin`): see
    :meth:`current_logits`.

    With ``own_domain``, the logits on the memory are not those of H_{t-1} but, for the
    samples of domain i, those of H_i: the model as it was right after it had learned
    them. The intra-domain bound (Lemma 3.2) holds for any fixed model, and H_{t-1} has
    forgotten some of domain i.

    If the last domain goes on (see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`), H_{t-1} is
    again the copy from before that domain.

    :param replay: the replay plugin for whose memory to compute outputs.
    :param encoder: name of the model's sub-module that is its encoder.
    :param own_domain: keep H_i's logits with the samples of domain i, in the memory.
    :param flip: mirrors samples of the memory at random; outputs are then computed for
        each sample and for its mirror image.
    """

    of_the_past = ("model",)
    outputs_batch_size = 1024
    outputs_batch_values = 2**23
    """Large images are processed in smaller batches, of at most this many values."""

    domain_sample_size = 512
    """An error that is measured on so many has a standard deviation of at most .022."""

    def __init__(
        self,
        replay: BalancedReplayPlugin | None = None,
        encoder: str = "encoder",
        flip: RandomFlipPlugin | None = None,
        own_domain: bool = False,
    ) -> None:
        super().__init__()
        if replay is not None:
            require_past_domains_only(self, replay)
            if own_domain:
                replay.annotate = self._answers
        self.replay = replay
        self.own_domain = own_domain
        self.encoder = encoder
        self.flip = flip
        self.memory_logits = torch.zeros(0)
        """H_{t-1}(x), or H_i(x), before the softmax for every sample of the memory,
        followed by those for the mirror images if there is a ``flip``."""
        self.memory_embeddings = torch.zeros(0)
        """E_{t-1}(x) in the same order."""
        # self.model is H_{t-1}, None during the first domain.
        self._loader: TensorLoader | None = None
        self._domain_logits: Tensor | None = None

    def require_replay(self, replay: BalancedReplayPlugin, plugin: Plugin) -> None:
        """Check that this history model was created for the memory of ``replay``.

        :param replay: the replay plugin of another plugin.
        :param plugin: the other plugin.
        :raises ValueError: if it was not.
        """
        if self.replay is not replay:
            raise ValueError(
                f"{type(plugin).__name__} needs the history model's outputs on the "
                "memory: create HistoryModelPlugin(replay=...) with the same replay."
            )

    def current_logits(self, strategy: Strategy, n_current: int) -> Tensor:
        """The logits of H_{t-1} on the mini-batch's samples of the current domain.

        Those of a domain of tensors are computed all at once in large batches, when
        they are first needed, and looked up from then on. If the inputs are not the
        domain's own, because another loader is used or because they are augmented,
        H_{t-1} runs in each step.

        :param strategy: the strategy, in a training iteration.
        :param n_current: number of samples of the current domain, the first ones.
        """
        x, task_labels = strategy.mb_x, strategy.mbatch[-1]
        given = None if self._loader is None else self._loader.last
        if given is None or len(given.positions) != n_current or not given.begins(x):
            return self(x[:n_current], task_labels[:n_current])
        assert self._loader is not None
        if self._domain_logits is None:
            self._domain_logits = self._domain_outputs(self._loader, strategy.device)
        return self._domain_logits[given.positions.to(strategy.device)]

    def _domain_outputs(self, loader: TensorLoader, device: torch.device) -> Tensor:
        # Always in the same batches, so that a resumed run gets the same bits.
        everything = torch.arange(len(loader.dataset))
        logits = []
        for positions in torch.split(everything, self.outputs_batch_size):
            x, *_, task_labels = loader.source.batch(positions)
            logits.append(self(x.to(device), task_labels.to(device)))
        return torch.cat(logits)

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Compute the outputs of H_{t-1} on the whole memory."""
        self.begin_domain(strategy)
        loader = strategy.dataloader
        self._loader = loader if isinstance(loader, TensorLoader) else None
        if self.model is None or self.replay is None or len(self.replay.memory) == 0:
            return
        fields = self.replay.memory.fields
        if self.own_domain:
            *fields, answers = fields
        logits, self.memory_embeddings = self._outputs(self.model, fields)
        if self.own_domain:
            # NaN stands for a class that the model did not have then.
            answers = answers.masked_fill(answers.isnan(), -torch.inf)
            logits = answers.transpose(0, 1).flatten(0, 1)
        self.memory_logits = logits

    def _outputs(
        self, model: nn.Module, fields: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Logits and embeddings of samples, and then those of their mirror images if
        there is a ``flip``."""
        inputs, *_, tasks = fields
        size = max(1, self.outputs_batch_values // inputs[0].numel())
        size = min(size, self.outputs_batch_size)
        logits, embeddings = [], []
        for images in (inputs,) if self.flip is None else (inputs, inputs.flip(-1)):
            batches = zip(
                torch.split(images, size), torch.split(tasks, size), strict=True
            )
            for x, task_labels in batches:
                with torch.no_grad(), EmbeddingTap(model, self.encoder) as tap:
                    logits.append(forward(model, x, task_labels))
                embeddings.append(tap.embeddings)
        return torch.cat(logits), torch.cat(embeddings)

    def _answers(self, strategy: Strategy, fields: list[Tensor]) -> list[Tensor]:
        """H_t(x) for samples of domain t as they enter the memory: a row of logits for
        each, and a second one for its mirror image if there is a ``flip``."""
        logits, _ = self._outputs(frozen_copy(evaluated_model(strategy)), fields)
        copies = logits.view(-1, len(fields[0]), logits.shape[1])
        return [copies.transpose(0, 1)]

    def domain_sample(self, strategy: Strategy) -> DomainSample:
        """The outputs of H_{t-1} on samples of the current domain, at most
        :attr:`domain_sample_size`.

        They are drawn from the whole domain, by a generator of their own: which ones
        they are depends on nothing but its size, and no other draw changes.

        :param strategy: the strategy, before it trains on the domain.
        """
        assert self.model is not None
        dataset = strategy.experience.dataset.eval()
        own = torch.Generator().manual_seed(0)
        chosen = torch.randperm(len(dataset), generator=own)[: self.domain_sample_size]
        size = max(1, self.outputs_batch_values // dataset[0][0].numel())
        parts = []
        for positions in torch.split(chosen, size):
            fields = default_collate([dataset[int(i)] for i in positions])
            x, y, *rest = (field.to(strategy.device) for field in fields)
            with torch.no_grad(), EmbeddingTap(self.model, self.encoder) as tap:
                logits = forward(self.model, x, rest[-1] if rest else y)
            parts.append((y, logits, tap.embeddings))
        return DomainSample(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def batch_logits(self, batch: MemoryBatch) -> Tensor:
        """H_{t-1}(x) for a memory batch, as its samples go into the model.

        :param batch: the memory's part of the current mini-batch.
        """
        return self.memory_logits.index_select(0, self._rows(batch))

    def batch_embeddings(self, batch: MemoryBatch) -> Tensor:
        """E_{t-1}(x) for a memory batch, as its samples go into the model.

        :param batch: the memory's part of the current mini-batch.
        """
        return self.memory_embeddings.index_select(0, self._rows(batch))

    def _rows(self, batch: MemoryBatch) -> Tensor:
        """Where the outputs for a memory batch are."""
        if self.flip is None:
            return batch.positions
        first_mirrored = len(self.memory_logits) // 2
        return batch.positions + first_mirrored * self.flip.flipped[batch.n_current :]

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Take the snapshot H_t."""
        self.model = frozen_copy(evaluated_model(strategy))
        self.finish_domain(strategy)
        self._loader, self._domain_logits = None, None

    def state_dict(self) -> dict[str, Any]:
        """The weights of H_{t-1}, from which everything else is computed."""
        return {"model": self.weights()}

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, whose model has the same architecture.
        """
        self.load_weights(state["model"], strategy.model)
        self._domain_logits = None
        self.forget_domain()

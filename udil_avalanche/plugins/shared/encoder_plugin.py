"""The base class of the plugins that work on embeddings."""

from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn

from udil_avalanche.plugins.shared.plugin import Plugin, Strategy


class EmbeddingTap(AbstractContextManager["EmbeddingTap"]):
    """Keeps the output of an encoder during a forward pass of the whole model.

    A forward hook listens until the ``with`` block ends. It is removed then, so that
    the model can be copied, saved and used as a teacher as before.

    :param model: the model h.
    :param encoder: name of the sub-module that is its encoder e, e.g. ``"encoder"`` or
        ``"features.conv"``.
    """

    def __init__(self, model: nn.Module, encoder: str) -> None:
        try:
            listened = model.get_submodule(encoder)
        except AttributeError:
            names = ", ".join(name for name, _ in model.named_children())
            raise ValueError(
                f"The model {type(model).__name__} has no sub-module {encoder!r}. Name "
                f"the one that is its encoder by `encoder=...`; it has: {names}."
            ) from None
        self._output: Tensor | None = None
        self._handle = listened.register_forward_hook(self._keep)

    def __exit__(self, *exception: object) -> None:
        self._handle.remove()

    def _keep(self, module: nn.Module, inputs: Any, output: Tensor) -> None:
        self._output = output

    @property
    def embeddings(self) -> Tensor:
        """e(x) of the last forward pass, one flat row per sample."""
        if self._output is None:
            raise RuntimeError("The model's forward pass did not call its encoder.")
        return self._output.flatten(start_dim=1)


class EncoderPlugin(Plugin):
    """A plugin that sees the embeddings of the training mini-batch.

    They are taken from the strategy's own forward pass: no plugin runs the encoder
    again.

    :param encoder: name of the model's sub-module that is its encoder.
    """

    needs_mini_batch = True

    def __init__(self, encoder: str = "encoder") -> None:
        super().__init__()
        self.encoder = encoder
        self._tap: EmbeddingTap | None = None

    @property
    def embeddings(self) -> Tensor:
        """e(x) of the current training mini-batch, one flat row per sample."""
        if self._tap is None:
            raise RuntimeError("There are embeddings only within a training iteration.")
        return self._tap.embeddings

    def before_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Listen to the encoder."""
        self._tap = EmbeddingTap(strategy.model, self.encoder)

    def after_forward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Stop listening."""
        if self._tap is not None:
            self._tap.__exit__()

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Release the embeddings and their graph."""
        self._tap = None

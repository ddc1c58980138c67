"""Training on all domains at once."""

from collections.abc import Callable, Sequence
from typing import Any

from avalanche.core import BasePlugin
from avalanche.training.supervised import JointTraining
from torch import Tensor

from udil_avalanche.losses import classification_loss
from udil_avalanche.plugins import TensorLoaderPlugin


class Joint(JointTraining):  # type: ignore[misc]
    """The oracle: trains on the samples of all domains together, shuffled. ``train``
    takes the whole stream and can be called once.

    It is Avalanche's ``JointTraining``, made fast for domains of tensors. Such a domain
    is generated when it is used and dropped for the next one, so reading all of them in
    random order would generate a domain for almost every sample.
    :class:`~udil_avalanche.plugins.TensorLoaderPlugin` generates each once and gathers
    the inputs in one tensor, which keeps 8-bit images as they are (twenty domains of
    MNIST take 940 MB).

    Unlike ``JointTraining``, it releases the data after training.

    :param criterion: the loss, of logits and labels.
    :param plugins: further plugins.
    :param kwargs: see Avalanche's ``JointTraining``.
    """

    def __init__(
        self,
        *,
        criterion: Callable[[Tensor, Tensor], Tensor] = classification_loss,
        plugins: Sequence[BasePlugin] | None = None,
        **kwargs: Any,
    ) -> None:
        parts = [TensorLoaderPlugin(), *(plugins or [])]
        super().__init__(criterion=criterion, plugins=parts, **kwargs)

    def train(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Train on all experiences at once; see Avalanche's ``JointTraining``."""
        metrics: dict[str, Any] = super().train(*args, **kwargs)
        self._train_cleanup()
        return metrics

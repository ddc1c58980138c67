"""Training on all domains at once."""

from collections.abc import Callable
from typing import Any

from avalanche.training.supervised import JointTraining
from torch import Tensor

from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.losses import classification_loss
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader


class Joint(JointTraining):
    """The oracle: trains on the samples of all domains together, shuffled. ``train``
    takes the whole stream and can be called once.

    It is Avalanche's ``JointTraining`` for domains of tensors. As these are made when
    they are used and dropped for the next one, a walk across all of them in random
    order would make a domain for almost every sample; here each is made once, and its
    inputs are gathered in one tensor, 8-bit images as such (twenty domains of MNIST
    take 940 MB). Datasets of any other kind go the way of Avalanche.

    After training it lets go of the data, which ``JointTraining`` does not.

    :param criterion: the loss, of logits and labels.
    :param kwargs: see Avalanche's ``JointTraining``.
    """

    def __init__(
        self,
        *,
        criterion: Callable[[Tensor, Tensor], Tensor] = classification_loss,
        **kwargs: Any,
    ) -> None:
        super().__init__(criterion=criterion, **kwargs)

    def train(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Train on all experiences at once; see Avalanche's ``JointTraining``."""
        metrics = super().train(*args, **kwargs)
        self._train_cleanup()
        return metrics

    def make_train_dataloader(self, shuffle: bool = True, **kwargs: Any) -> None:
        """Gather the domains, if they are tensors."""
        source = tensor_source(self.adapted_dataset)
        if source is None:
            super().make_train_dataloader(shuffle=shuffle, **kwargs)
        else:
            self.dataloader = TensorLoader(
                self.adapted_dataset, source, self.train_mb_size, shuffle
            )


__all__ = ["Joint"]

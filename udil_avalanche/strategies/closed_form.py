"""Classifiers in closed form on fixed features."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.training.templates import SupervisedTemplate
from torch import Tensor
from torch.optim import SGD, Optimizer

from udil_avalanche.losses import classification_loss
from udil_avalanche.models import EncoderPredictor
from udil_avalanche.models.heads import ClosedFormHead
from udil_avalanche.plugins import TensorLoaderPlugin


class ClosedForm(SupervisedTemplate):  # type: ignore[misc]
    """Computes a classifier on fixed features: one pass over each domain adds up what
    the classifier's formula needs, and nothing is trained.

    The encoder stays as it is, in evaluation mode. The result does not depend on the
    order of the domains or of their samples, see
    :class:`~udil_avalanche.models.heads.closed_form.ClosedFormHead`.

    :param model: h = p o e, where e gives the features and p is a
        :class:`~udil_avalanche.models.heads.closed_form.ClosedFormHead`.
    :param optimizer: not used; Avalanche's strategies have one.
    :param criterion: the loss, of logits and labels; it is only reported.
    :param train_epochs: not used: one pass is enough.
    :param plugins: further plugins.
    :param kwargs: see Avalanche's ``SupervisedTemplate``.
    """

    def __init__(
        self,
        *,
        model: EncoderPredictor,
        optimizer: Optimizer | None = None,
        criterion: Callable[[Tensor, Tensor], Tensor] = classification_loss,
        train_epochs: int = 1,
        plugins: Sequence[BasePlugin] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(model.predictor, ClosedFormHead):
            raise ValueError(
                "ClosedForm needs a model whose predictor is a ClosedFormHead, such as "
                f"NearestClassMean, but it is a {type(model.predictor).__name__}."
            )
        self.head = model.predictor
        """p, which is computed."""
        super().__init__(
            model=model,
            optimizer=optimizer or SGD(model.parameters(), lr=1.0),
            criterion=criterion,
            train_epochs=1,
            plugins=[TensorLoaderPlugin(), *(plugins or [])],
            **kwargs,
        )

    @torch.no_grad()
    def training_epoch(self, **kwargs: Any) -> None:
        """Add up what the classifier's formula needs. The loss is that of the
        classifier as it was before the domain; plugins may look at it before its
        samples count, as they may before a backward pass."""
        self.model.eval()
        for self.mbatch in self.dataloader:  # noqa: B020
            if self._stop_training:
                break
            self._unpack_minibatch()
            self._before_training_iteration(**kwargs)
            self._before_forward(**kwargs)
            features = self.model.encoder(self.mb_x)
            self.mb_output = self.head(features)
            self._after_forward(**kwargs)
            self.loss = self.criterion()
            self._before_backward(**kwargs)
            self.head.observe(features, self.mb_y)
            self._after_training_iteration(**kwargs)

    def _after_training_exp(self, **kwargs: Any) -> None:
        self.head.fit()
        super()._after_training_exp(**kwargs)

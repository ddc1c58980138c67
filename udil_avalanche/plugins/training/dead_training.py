"""A word about training that no longer learns."""

import logging
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import default_collate

from udil_avalanche.models.heads import ClosedFormHead
from udil_avalanche.plugins.shared.averaged_model import evaluated_model
from udil_avalanche.plugins.shared.frozen import forward
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy

logger = logging.getLogger(__name__)

SAMPLES = 128
"""How many of a domain's samples to look at."""

WORSE = 1.25
"""A loss is above that of guessing if it is so many times as large: after a few steps
of a hard domain it may be just above."""

LARGE = 1e3
"""A weight beyond this is named in the message."""


class DeadTrainingPlugin(Plugin):
    """Says so when a domain was not learned at all, right after its training.

    A learning rate that is far too large rarely ends in NaN: clipped gradients and dead
    units leave a model that answers every sample alike. The model, as it is evaluated,
    answers some samples of the domain that it has just been trained on. It has learned
    nothing if its outputs do not depend on the sample, or if their cross-entropy is
    above that of guessing among all classes. (A classifier in closed form does not
    minimise the cross-entropy, so that its value says nothing.)

    Nothing is drawn at random and no weight is changed, so that results are the same
    with and without it. Outputs that are not one number for each class are left alone.

    Every run has it. In a strategy of your own::

        plugins = [DeadTrainingPlugin()]
        strategy = Naive(model=model, optimizer=optimizer, plugins=plugins)

    :param advice: what to try, the end of the message.
    :param say: is told the message.
    """

    def __init__(
        self,
        advice: str = "try a smaller learning rate",
        say: Callable[[str], None] = logger.warning,
    ) -> None:
        super().__init__()
        self.advice = advice
        self.say = say
        self.message: str | None = None
        """What was said of the last domain, if anything was."""

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Look at the model's answers."""
        self.message = None
        problem = self._problem(strategy)
        if problem is not None:
            domain = strategy.clock.train_exp_counter + 1
            self.message = f"domain {domain} was not learned: {problem}; {self.advice}"
            self.say(self.message)

    @torch.no_grad()
    def _problem(self, strategy: Strategy) -> str | None:
        x, y, *rest = _some(strategy)
        model = evaluated_model(strategy)
        training = model.training
        model.eval()
        try:
            logits = forward(model, x, rest[-1] if rest else None)
        finally:
            model.train(training)
        if logits.ndim != 2 or len(y) < 2 or int(y.max()) >= logits.shape[1]:
            return None
        loss, guessing = float(cross_entropy(logits, y)), math.log(logits.shape[1])
        spread = float((logits.max(dim=0).values - logits.min(dim=0).values).max())
        if not logits.isfinite().all():
            return "the model's outputs are not finite"
        if spread <= 1e-6 * float(logits.abs().max()) and bool((y != y[0]).any()):
            problem = "the model's outputs are the same for every sample"
        elif loss > WORSE * guessing > 0 and not _is_computed(model):
            problem = f"its loss is {loss:.3g}, and guessing has {guessing:.3g}"
        else:
            return None
        largest = max(float(p.abs().max()) for p in model.parameters() if p.numel())
        if largest > LARGE:
            problem += f", with weights up to {largest:.2g}"
        return problem


def _is_computed(model: nn.Module) -> bool:
    """Whether the classifier is computed by a formula instead of trained."""
    return isinstance(getattr(model, "predictor", None), ClosedFormHead)


def _some(strategy: Strategy) -> list[Tensor]:
    """Samples of the domain, evenly spread over it: x, y and what follows."""
    dataset = strategy.experience.dataset.eval()
    count = min(SAMPLES, len(dataset))
    indices = torch.linspace(0, len(dataset) - 1, count).long().tolist()
    collate = getattr(dataset, "collate_fn", None) or default_collate
    return [
        field.to(strategy.device) for field in collate([dataset[i] for i in indices])
    ]

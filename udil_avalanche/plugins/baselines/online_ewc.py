"""Online elastic weight consolidation."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.models.growing import aligned
from udil_avalanche.plugins.baselines.fisher import diagonal_fisher
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader
from udil_avalanche.plugins.shared.checks import positive, single_task
from udil_avalanche.plugins.shared.past_plugin import PastPlugin
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.shared.stateful import StatefulPlugin


class OnlineEWCPlugin(StatefulPlugin, PastPlugin):
    r"""Online EWC (Schwarz et al., Progress & Compress, ICML 2018,
    https://arxiv.org/abs/1805.06370): a quadratic penalty pulls each weight towards its
    value after the last domain, the more strongly the more the weight mattered to the
    past domains. Domain t minimises

    .. math::
        \ell_t(\theta) + \frac{\lambda}{2} \sum_j \gamma F^*_{t-1, j}
        (\theta_j - \theta^*_{t-1, j})^2,
        \qquad F^*_t = \gamma F^*_{t-1} + F_t

    F_t is the exact Fisher information of
    :func:`~udil_avalanche.plugins.baselines.fisher.diagonal_fisher`, with the model's
    own labels, as the Laplace approximation behind EWC requires. With the true labels
    instead, a sample that is learned well says nothing about the weights that it needs.
    Avalanche's ``EWCPlugin`` squares the gradients of mini-batches, not of samples.

    Deviations from the paper:

    1. Only its online EWC is implemented, on the model itself: no active column, no
       distillation into a knowledge base.
    2. :math:`\lambda` weights the penalty, as in EWC (https://arxiv.org/abs/1612.00796).
    3. The Fisher information of a domain is not normalised.

    Implementations without the factor 1/2 that weight the gradients of true labels by
    their probability (mammoth, with :math:`\lambda = .7, \gamma = 1` on the MNIST
    benchmarks) need another :math:`\lambda` for the same strength.

    If the last domain goes on (see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`), the penalty
    is that from before it, and F_t is averaged over the samples of its parts.

    :param ewc_lambda: :math:`\lambda`, weight of the penalty. Plain SGD diverges if its
        learning rate times this times the largest F* exceeds 2.
    :param gamma: :math:`\gamma`, factor of the past domains' Fisher information at each
        new domain; 1 forgets nothing.
    :param n_samples: how many random samples of a domain to average the Fisher
        information over; all if ``None``.
    """

    saved = ("fisher", "theta_star")
    of_the_past = saved

    fisher_batch_size = 512

    def __init__(
        self,
        ewc_lambda: float = 1.0,
        gamma: float = 1.0,
        n_samples: int | None = None,
    ) -> None:
        super().__init__()
        if n_samples is not None:
            positive("n_samples", n_samples)
        self.ewc_lambda = ewc_lambda
        self.gamma = gamma
        self.n_samples = n_samples
        self.fisher: dict[str, Tensor] = {}
        """F*_{t-1} by name of parameter; empty during the first domain."""
        self.theta_star: dict[str, Tensor] = {}
        """The weights at the end of the last domain, by name of parameter."""
        self._of_domain: dict[str, Tensor] = {}
        self._task = 0

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Begin a domain, or go on with the last one."""
        self._task = single_task(strategy)
        if not self.begin_domain(strategy):
            self._of_domain = {}

    def before_backward(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the penalty to the model's loss."""
        if not self.fisher:
            return
        theta = dict(strategy.model.named_parameters())
        stretch = torch.stack(
            [
                (
                    fisher
                    * (_old(theta[name], fisher) - self.theta_star[name]).square()
                ).sum()
                for name, fisher in self.fisher.items()
            ]
        )
        penalty = self.ewc_lambda / 2 * self.gamma * stretch.sum()
        strategy.loss += penalty
        self.terms = {"ewc_penalty": penalty.detach()}

    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add F_t to the past domains' Fisher information, and store the weights."""
        new = diagonal_fisher(strategy.model, self._inputs(strategy), self._task)
        if self._of_domain:
            share = len(strategy.experience.dataset) / self.domain.n_samples
            new = {
                name: _of_past(self._of_domain, name, fisher).lerp(fisher, share)
                for name, fisher in new.items()
            }
        self._of_domain = new
        self.fisher = {
            name: self.gamma * _of_past(self.fisher, name, fisher) + fisher
            if name in self.fisher
            else fisher
            for name, fisher in new.items()
        }
        theta = dict(strategy.model.named_parameters())
        self.theta_star = {name: theta[name].detach().clone() for name in new}
        self.terms = {}
        self.finish_domain(strategy)

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, with its model already loaded.
        """
        super().load_state_dict(state, strategy)
        self.forget_domain()

    def _inputs(self, strategy: Strategy) -> Iterator[Tensor]:
        dataset = strategy.experience.dataset.eval()
        if self.n_samples is not None:
            chosen = torch.randperm(len(dataset))[: self.n_samples]
            dataset = dataset.subset(chosen.tolist())
        source = tensor_source(dataset)
        size = self.fisher_batch_size
        loader: Iterable[Any] = (
            DataLoader(dataset, size, collate_fn=dataset.collate_fn)
            if source is None
            else TensorLoader(dataset, source, size, shuffle=False)
        )
        for x, *_ in loader:
            yield x.to(strategy.device)


def _of_past(values: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
    """The values of a parameter, 0 for weights that it did not have."""
    nothing = torch.zeros_like(like)
    return aligned(values.get(name, nothing), nothing)


def _old(theta: Tensor, past: Tensor) -> Tensor:
    """The weights that a parameter had before it grew."""
    if theta.shape == past.shape:
        return theta
    return theta[tuple(slice(size) for size in past.shape)]

"""Online elastic weight consolidation."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor
from torch.utils.data import DataLoader

from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.plugins.baselines.fisher import diagonal_fisher
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader


class OnlineEWCPlugin(SupervisedPlugin):
    """Online EWC (Schwarz et al., Progress & Compress, ICML 2018,
    https://arxiv.org/abs/1805.06370): a spring holds each weight where the last domain
    left it, as strong as the past domains have needed the weight. Domain t minimises

    .. math::
        \\ell_t(\\theta) + \\frac{\\lambda}{2} \\sum_j \\gamma F^*_{t-1, j}
        (\\theta_j - \\theta^*_{t-1, j})^2,
        \\qquad F^*_t = \\gamma F^*_{t-1} + F_t

    F_t is the exact Fisher information of
    :func:`~udil_avalanche.plugins.baselines.fisher.diagonal_fisher`, with the model's
    own labels: that is what the Laplace approximation behind EWC asks for. With the
    true labels instead, a sample that is learned well says nothing about the weights
    that it needs.
    Avalanche's ``EWCPlugin`` squares the gradients of mini-batches, not of samples.

    Deviations from the paper:

    1. Only its online EWC is here, on the model itself: no active column, no
       distillation into a knowledge base.
    2. :math:`\\lambda` weighs the penalty, as in EWC (https://arxiv.org/abs/1612.00796).
    3. The Fisher information of a domain is not normalised.

    Implementations that leave out the half and weigh the gradients of true labels by
    their probability (mammoth, with :math:`\\lambda = .7, \\gamma = 1` on the MNIST
    benchmarks) need another :math:`\\lambda` for the same pull.

    :param ewc_lambda: :math:`\\lambda`, weight of the penalty. Plain SGD diverges where
        its learning rate times this times the largest F* exceeds 2.
    :param gamma: :math:`\\gamma`, what is left of the past at each new domain; 1
        forgets nothing.
    :param n_samples: how many random samples of a domain the Fisher information is
        taken over; all if ``None``.
    """

    fisher_batch_size = 512

    def __init__(
        self,
        ewc_lambda: float = 1.0,
        gamma: float = 1.0,
        n_samples: int | None = None,
    ) -> None:
        super().__init__()
        if n_samples is not None and n_samples < 1:
            raise ValueError(f"n_samples must be positive, but it is {n_samples}.")
        self.ewc_lambda = ewc_lambda
        self.gamma = gamma
        self.n_samples = n_samples
        self.fisher: dict[str, Tensor] = {}
        """F*_{t-1} by name of parameter; empty during the first domain."""
        self.theta_star: dict[str, Tensor] = {}
        """The weights at the end of the last domain, by name of parameter."""
        self.terms: dict[str, Tensor] = {}
        """The penalty of the last iteration, for logging."""

    def before_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Add the penalty to the model's loss."""
        if not self.fisher:
            return
        theta = dict(strategy.model.named_parameters())
        stretch = torch.stack(
            [
                (fisher * (theta[name] - self.theta_star[name]).square()).sum()
                for name, fisher in self.fisher.items()
            ]
        )
        penalty = self.ewc_lambda / 2 * self.gamma * stretch.sum()
        strategy.loss += penalty
        self.terms = {"ewc_penalty": penalty.detach()}

    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Add F_t to what the past needs, and hold the weights where they are now."""
        new = diagonal_fisher(strategy.model, self._inputs(strategy))
        self.fisher = {
            name: self.gamma * self.fisher[name] + fisher if self.fisher else fisher
            for name, fisher in new.items()
        }
        theta = dict(strategy.model.named_parameters())
        self.theta_star = {name: theta[name].detach().clone() for name in new}
        self.terms = {}

    def state_dict(self) -> dict[str, Any]:
        """F*_{t-1} and the weights to hold."""
        return {"fisher": self.fisher, "theta_star": self.theta_star}

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.fisher, self.theta_star = (
            {name: values.to(strategy.device) for name, values in state[key].items()}
            for key in ("fisher", "theta_star")
        )

    def _inputs(self, strategy: Any) -> Iterator[Tensor]:
        dataset = strategy.experience.dataset.eval()
        if self.n_samples is not None:
            chosen = torch.randperm(len(dataset))[: self.n_samples]
            dataset = dataset.subset(chosen.tolist())
        source = tensor_source(dataset)
        loader: Iterable[Any]
        if source is None:
            loader = DataLoader(
                dataset, self.fisher_batch_size, collate_fn=dataset.collate_fn
            )
        else:
            loader = TensorLoader(
                dataset, source, self.fisher_batch_size, shuffle=False
            )
        for x, *_ in loader:
            yield x.to(strategy.device)


__all__ = ["OnlineEWCPlugin"]

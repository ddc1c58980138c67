"""Synaptic intelligence."""

from collections.abc import Iterator
from typing import Any

import torch
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn


class SynapticIntelligencePlugin(SupervisedPlugin):
    """SI (Zenke, Poole and Ganguli, Continual Learning Through Synaptic Intelligence,
    ICML 2017, https://arxiv.org/abs/1703.04200): a weight matters as much as its
    movement has brought the loss down. With the path integral of domain t over its
    steps, from :math:`\\theta^*_{t-1}` to :math:`\\theta^*_t`,

    .. math::
        \\omega_{t, j} = -\\sum_\\text{steps} g_j \\, \\Delta\\theta_j,
        \\qquad
        \\Omega_{t, j} = \\Omega_{t-1, j} + \\frac{\\omega_{t, j}}
            {(\\theta^*_{t, j} - \\theta^*_{t-1, j})^2 + \\xi}

    domain t + 1 minimises its loss plus the surrogate
    :math:`c \\sum_j \\Omega_{t, j} (\\theta_j - \\theta^*_{t, j})^2`.

    g is the gradient of the loss without the surrogate, and :math:`\\Delta\\theta` what
    the optimizer, whichever it is, makes of both. So the surrogate does not go into the
    loss: its derivative, :math:`2 c \\Omega_t (\\theta - \\theta^*_t)`, is added to the
    gradient after the backward pass, and the loss that a strategy logs is without it.

    On a CPU Avalanche's ``SynapticIntelligencePlugin`` takes the live weights for those
    before the step, so that nothing ever moves and it does nothing.

    Deviations from the paper:

    1. :math:`\\Omega` is never less than 0: a loss that went up along the path would
       push a weight away from where it was, without end. (The authors' code does the
       same, which the paper does not say.)
    2. The optimizer keeps its state between domains, unless the strategy forgets it.

    :param c: strength of the surrogate.
    :param xi: :math:`\\xi`, keeps the importance of a weight that hardly moved finite.
    """

    def __init__(self, c: float = 0.1, xi: float = 0.1) -> None:
        super().__init__()
        self.c = c
        self.xi = xi
        self.importance: dict[str, Tensor] = {}
        """Omega_{t-1} by name of parameter; empty during the first domain."""
        self.path_integral: dict[str, Tensor] = {}
        """omega_t so far, by name of parameter."""
        self.theta_star: dict[str, Tensor] = {}
        """The weights at the end of the last domain, by name of parameter."""
        self.terms: dict[str, Tensor] = {}
        """The surrogate of the last iteration, for logging."""
        self._gradients: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}

    @torch.no_grad()
    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Start the path where the last domain has ended."""
        for name, theta in _trained(strategy.model):
            self.theta_star[name] = theta.clone()
            self.path_integral[name] = torch.zeros_like(theta)

    @torch.no_grad()
    def after_backward(self, strategy: Any, **kwargs: Any) -> None:
        """Keep the gradient of the loss, then add that of the surrogate."""
        surrogate = torch.zeros((), device=strategy.device)
        for name, theta in _trained(strategy.model):
            if theta.grad is None:
                continue
            self._gradients[name] = theta.grad.clone()
            self._weights[name] = theta.clone()
            if name in self.importance:
                stretch = theta - self.theta_star[name]
                force = 2 * self.c * self.importance[name] * stretch
                theta.grad += force
                surrogate += (force * stretch).sum() / 2
        if self.importance:
            self.terms = {"si_surrogate": surrogate}

    @torch.no_grad()
    def after_update(self, strategy: Any, **kwargs: Any) -> None:
        """Go one step along the path."""
        for name, theta in _trained(strategy.model):
            if name in self._gradients:
                step = theta - self._weights[name]
                self.path_integral[name] -= self._gradients[name] * step
        self._gradients, self._weights = {}, {}

    @torch.no_grad()
    def after_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Add the domain's importance of each weight to that of the past."""
        for name, theta in _trained(strategy.model):
            distance = (theta - self.theta_star[name]).square()
            new = self.path_integral[name] / (distance + self.xi)
            past = self.importance.get(name, torch.zeros_like(new))
            self.importance[name] = (past + new).clamp(min=0)
        self.terms = {}

    def state_dict(self) -> dict[str, Any]:
        """The importance of each weight and its path so far."""
        return {
            "importance": self.importance,
            "path_integral": self.path_integral,
            "theta_star": self.theta_star,
        }

    def load_state_dict(self, state: dict[str, Any], strategy: Any) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self.importance, self.path_integral, self.theta_star = (
            {name: values.to(strategy.device) for name, values in state[key].items()}
            for key in ("importance", "path_integral", "theta_star")
        )


def _trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, p) for name, p in model.named_parameters() if p.requires_grad)


__all__ = ["SynapticIntelligencePlugin"]

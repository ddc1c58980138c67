"""Synaptic intelligence."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from udil_avalanche.errors import RunError
from udil_avalanche.models.growing import aligned
from udil_avalanche.plugins.shared.past_plugin import PastPlugin
from udil_avalanche.plugins.shared.plugin import Strategy
from udil_avalanche.plugins.shared.stateful import StatefulPlugin
from udil_avalanche.plugins.training.finite_loss import STEPS_BETWEEN_CHECKS


class SynapticIntelligencePlugin(StatefulPlugin, PastPlugin):
    r"""SI (Zenke, Poole and Ganguli, Continual Learning Through Synaptic Intelligence,
    ICML 2017, https://arxiv.org/abs/1703.04200): the importance of a weight is how much
    its movement lowered the loss. With the path integral of domain t over its steps,
    from :math:`\theta^*_{t-1}` to :math:`\theta^*_t`,

    .. math::
        \omega_{t, j} = -\sum_\text{steps} g_j \, \Delta\theta_j,
        \qquad
        \Omega_{t, j} = \Omega_{t-1, j} + \frac{\omega_{t, j}}
            {(\theta^*_{t, j} - \theta^*_{t-1, j})^2 + \xi}

    domain t + 1 minimises its loss plus the surrogate
    :math:`c \sum_j \Omega_{t, j} (\theta_j - \theta^*_{t, j})^2`.

    g is the gradient of the loss without the surrogate, and :math:`\Delta\theta` the
    optimizer's step on both. So the surrogate is not added to the loss: its derivative,
    :math:`2 c \Omega_t (\theta - \theta^*_t)`, is added to the gradient after the
    backward pass. The loss that a strategy logs does not contain it.

    On a CPU Avalanche's ``SynapticIntelligencePlugin`` keeps a reference to the live
    weights instead of a copy, so that every path is zero and it has no effect.

    Deviations from the paper:

    1. :math:`\Omega` is never less than 0: a negative value, from a loss that went up
       along the path, would push the weight away without limit. (The authors' code does
       the same; the paper does not mention it.)
    2. The optimizer keeps its state between domains, unless the strategy resets it.

    If the last domain goes on (see
    :class:`~udil_avalanche.plugins.shared.current_domain.CurrentDomain`), its path goes
    on from where it ended, with the surrogate from before that domain.

    :param c: strength of the surrogate. Plain SGD diverges if its learning rate times
        this times the largest :math:`\Omega` exceeds 1. Training stops with an error
        before the weights are no longer finite.
    :param xi: :math:`\xi`, keeps the importance of a weight that hardly moved finite.
    """

    saved = ("importance", "path_integral", "theta_star")
    of_the_past = ("importance",)

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
        self._gradients: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}

    @torch.no_grad()
    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Start the path where the last domain ended, unless it goes on."""
        goes_on = self.begin_domain(strategy)
        for name, theta in _trained(strategy.model):
            if not goes_on or name not in self.theta_star:
                self.theta_star[name] = theta.clone()
                self.path_integral[name] = torch.zeros_like(theta)
            # The model may have grown: new weights start here.
            nothing = torch.zeros_like(theta)
            self.theta_star[name] = aligned(self.theta_star[name], theta)
            self.path_integral[name] = aligned(self.path_integral[name], nothing)
            if name in self.importance:
                self.importance[name] = aligned(self.importance[name], nothing)

    @torch.no_grad()
    def after_backward(self, strategy: Strategy, **kwargs: Any) -> None:
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
            self._check(strategy, surrogate)

    def _check(self, strategy: Strategy, surrogate: Tensor) -> None:
        """The surrogate is no part of the loss, so that nobody else would notice."""
        step = strategy.clock.train_exp_iterations
        if strategy.device.type != "cpu" and step % STEPS_BETWEEN_CHECKS:
            return
        if not surrogate.isfinite():
            largest = max(float(each.max()) for each in self.importance.values())
            raise RunError(
                f"SI's surrogate is {float(surrogate)} in step {step + 1} of domain "
                f"{strategy.clock.train_exp_counter + 1}\nTry a smaller c than "
                f"{self.c:g}, or a smaller learning rate: plain SGD diverges if their "
                f"product times Omega, at most {largest:.3g} here, exceeds 1"
            )

    @torch.no_grad()
    def after_update(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the step to the path integral."""
        for name, theta in _trained(strategy.model):
            if name in self._gradients:
                step = theta - self._weights[name]
                self.path_integral[name] -= self._gradients[name] * step
        self._gradients, self._weights = {}, {}

    @torch.no_grad()
    def after_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Add the importance of each weight for this domain to that for the past."""
        for name, theta in _trained(strategy.model):
            distance = (theta - self.theta_star[name]).square()
            new = self.path_integral[name] / (distance + self.xi)
            past = self.importance.get(name, torch.zeros_like(new))
            self.importance[name] = (past + new).clamp(min=0)
        self.terms = {}
        self.finish_domain(strategy)

    def load_state_dict(self, state: dict[str, Any], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy, with its model already loaded.
        """
        super().load_state_dict(state, strategy)
        self.forget_domain()


def _trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return ((name, p) for name, p in model.named_parameters() if p.requires_grad)

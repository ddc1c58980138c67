"""Omega while a domain is learned."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from udil_avalanche.losses.coefficient_loss import (
    coefficient_gradient,
    coefficient_loss,
)
from udil_avalanche.losses.coefficient_solution import coefficient_solution
from udil_avalanche.plugins.shared.optimizer_state import (
    load_optimizer_state,
    optimizer_state,
)
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.coefficients import (
    Omega,
    softmax_coefficients,
    softmax_gradient,
)


def _zeros(n_past: int, device: torch.device | str = "cpu") -> Tensor:
    """Three logits per past domain, as 32-bit floats like the estimates, whatever type
    the model has."""
    return torch.zeros(n_past, 3, dtype=torch.float32, device=device)


class AdaptiveOmega:
    """Omega for the current domain: learned on V_0-1, or fixed.

    Learned coefficients are the softmax of three logits per past domain, which start at
    0 in every domain, so that Omega starts at 1/3 each.

    :param lr: learning rate of the logits' Adam.
    :param fixed: fixes (alpha, beta, gamma) at this function of t, for t >= 2.
    """

    def __init__(
        self,
        lr: float = 2e-3,
        fixed: Callable[[int], tuple[float, float, float]] | None = None,
    ) -> None:
        self.lr = lr
        self.fixed = fixed
        self.logits = _zeros(0)
        self._optimizer: torch.optim.Optimizer | None = None
        self.values = Omega(*self.logits.unbind(dim=1))
        """The current coefficients, as constants."""

    def start_domain(self, n_past: int, device: torch.device | str = "cpu") -> None:
        """Begin domain t = ``n_past`` + 1.

        :param n_past: number of past domains.
        :param device: where to keep the coefficients.
        """
        if self.fixed is not None:
            values = _zeros(1, device).new_tensor(self.fixed(n_past + 1))
            self.values = Omega(*values[:, None].expand(3, n_past))
            return
        self.logits = _zeros(n_past, device).requires_grad_()
        self._optimizer = torch.optim.Adam([self.logits], lr=self.lr, fused=True)
        self._refresh()

    @torch.no_grad()
    def step(self, estimates: BoundEstimates, c: float) -> Tensor:
        """One step of gradient descent on V_0-1; fixed coefficients do not change.

        :param estimates: the errors and divergences of the current mini-batch.
        :param c: the paper's C.
        :return: V_0-1 before the step.
        """
        loss = coefficient_loss(self.values, estimates, c)
        if self._optimizer is not None:
            gradient = coefficient_gradient(self.values, estimates, c)
            self.logits.grad = softmax_gradient(self.values, gradient)
            self._optimizer.step()
            self._refresh()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The logits and their optimizer; Omega follows from them, or is fixed."""
        adam = self._optimizer
        return {
            "n_past": len(self.values.alpha),
            "logits": self.logits,
            "optimizer": None if adam is None else optimizer_state(adam),
        }

    def load_state_dict(
        self, state: dict[str, Any], device: torch.device | str = "cpu"
    ) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where to keep the coefficients.
        """
        self.start_domain(state["n_past"], device)
        if self._optimizer is not None and state["optimizer"] is not None:
            load_optimizer_state(self._optimizer, state["optimizer"])
            with torch.no_grad():
                self.logits.copy_(state["logits"])
            self._refresh()

    def _refresh(self) -> None:
        self.values = softmax_coefficients(self.logits.detach())


class SolvedOmega(AdaptiveOmega):
    """Omega for the current domain, solved from V_0-1 instead of learned by its
    gradient: see :func:`~udil_avalanche.losses.coefficient_solution`.

    The steps of :class:`AdaptiveOmega` are small, so that in most domains they end long
    before the minimum; larger ones follow the noise of a mini-batch. This one arrives
    with every solution, and the estimates that it gets are smoothed.

    :param tau: how much the estimates have to differ to matter.
    :param every: steps between two solutions.
    """

    def __init__(self, tau: float = 0.1, every: int = 10) -> None:
        super().__init__()
        self.tau = tau
        self.every = every
        self._steps = 0

    def start_domain(self, n_past: int, device: torch.device | str = "cpu") -> None:
        """Begin domain t = ``n_past`` + 1.

        :param n_past: number of past domains.
        :param device: where to keep the coefficients.
        """
        self.logits = _zeros(n_past, device)
        self._steps = 0
        self._refresh()

    @torch.no_grad()
    def step(self, estimates: BoundEstimates, c: float) -> Tensor:
        """Solve for Omega, in every so many steps.

        :param estimates: the errors and divergences so far.
        :param c: the paper's C.
        :return: V_0-1 at the coefficients before.
        """
        loss = coefficient_loss(self.values, estimates, c)
        if self._steps % self.every == 0:
            # A later solution starts from the last one, which is close.
            rounds = 100 if self._steps == 0 else 20
            self.logits = coefficient_solution(
                estimates, c, self.tau, self.logits, rounds
            )
            self._refresh()
        self._steps += 1
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The solution and the number of steps so far."""
        return {"logits": self.logits, "steps": self._steps}

    def load_state_dict(
        self, state: dict[str, Any], device: torch.device | str = "cpu"
    ) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where to keep the coefficients.
        """
        self.logits = state["logits"].to(device)
        self._steps = state["steps"]
        self._refresh()

"""The unified generalisation bound of Theorem 3.4, term by term, and its coefficients.

For every past domain i the bound mixes three ways to bound the error, with
alpha_i + beta_i + gamma_i = 1: the history model on the memory (alpha, Lemma 3.2), the
history model on the current domain (beta, Lemma 3.3) and the labels in the memory
(gamma, Lemma 3.1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from udil_avalanche.optimizer_state import load_optimizer_state, optimizer_state


class Omega(NamedTuple):
    """The coefficients of the bound, one of each per past domain."""

    alpha: Tensor
    """Weight of the intra-domain bound."""

    beta: Tensor
    """Weight of the cross-domain bound."""

    gamma: Tensor
    """Weight of the empirical risk on the memory."""


@dataclass
class BoundEstimates:
    """What the bound is evaluated on; tensors hold one value per past domain."""

    current_error: Tensor
    """0-1 error of h on the current domain (a scalar)."""

    past_error: Tensor
    """0-1 error of h on each past domain's memory."""

    current_disagreement: Tensor
    """Share of the current domain on which h and H_{t-1} differ (a scalar)."""

    past_disagreement: Tensor
    """The same on each past domain's memory."""

    divergence: Tensor
    """Empirical divergence between each past domain and the current one, in [0, 2]."""

    history_error: Tensor
    """0-1 error of H_{t-1} on each past domain's memory."""

    n_current: int
    """N_t, the size of the current domain."""

    n_memory: Tensor
    """The number of samples that the memory holds of each past domain."""


def erm_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The empirical risks on the memory, weighted by gamma."""
    return omega.gamma @ estimates.past_error


def intra_domain_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The disagreements with H_{t-1} on the memory, weighted by alpha (Lemma 3.2)."""
    return omega.alpha @ estimates.past_disagreement


def cross_domain_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The disagreement with H_{t-1} on the current domain, times the sum of beta
    (Lemma 3.3)."""
    return omega.beta.sum() * estimates.current_disagreement


def divergence_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """Half the divergences between past domains and the current one, weighted by
    beta (Lemma 3.3)."""
    return omega.beta @ estimates.divergence / 2


def history_term(omega: Omega, estimates: BoundEstimates) -> Tensor:
    """The errors of H_{t-1} itself, weighted by alpha + beta."""
    return (omega.alpha + omega.beta) @ estimates.history_error


def generalization_term(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    """The price of finite samples, with C in place of the VC-dimension's factor.

    :param c: the paper's C, see :func:`vc_constant`.
    """
    current = (1 + omega.beta.sum()) ** 2 / estimates.n_current
    past = (omega.gamma + omega.alpha) ** 2 / estimates.n_memory
    return c * torch.sqrt(current + past.sum())


def vc_constant(vc_dimension: int, n_samples: int, delta: float) -> float:
    """:math:`C = \\sqrt{8 d \\log(2 e N / d) + 8 \\log(2 / \\delta)}`, the factor of
    Theorem 3.4 that the hyper-parameter C stands for.

    :param vc_dimension: d, of the hypothesis space.
    :param n_samples: N, all samples at hand: the current domain's and the memory's.
    :param delta: the bound holds with probability 1 - delta.
    """
    d = vc_dimension
    return math.sqrt(
        8 * d * math.log(2 * math.e * n_samples / d) + 8 * math.log(2 / delta)
    )


def coefficient_loss(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    """Equation (V_0-1): the part of the bound that depends on the coefficients, by
    which they are learned."""
    return (
        erm_term(omega, estimates)
        + intra_domain_term(omega, estimates)
        + cross_domain_term(omega, estimates)
        + divergence_term(omega, estimates)
        + history_term(omega, estimates)
        + generalization_term(omega, estimates, c)
    )


def coefficient_gradient(omega: Omega, estimates: BoundEstimates, c: float) -> Omega:
    """The derivatives of V_0-1 by alpha, beta and gamma, written down: automatic
    differentiation of so small a formula takes twice as long."""
    root = generalization_term(omega, estimates, c=1)
    current = c / root * (1 + omega.beta.sum()) / estimates.n_current
    past = c / root * (omega.gamma + omega.alpha) / estimates.n_memory
    return Omega(
        alpha=estimates.past_disagreement + estimates.history_error + past,
        beta=estimates.current_disagreement
        + estimates.divergence / 2
        + estimates.history_error
        + current,
        gamma=estimates.past_error + past,
    )


def unified_bound(omega: Omega, estimates: BoundEstimates, c: float) -> Tensor:
    """The right-hand side g(h, H_{t-1}, Omega) of Theorem 3.4."""
    return estimates.current_error + coefficient_loss(omega, estimates, c)


class Coefficients:
    """Omega for the current domain: learned on V_0-1, or held still.

    Learned coefficients are the softmax of three logits per past domain, which start at
    0 in every domain, so that Omega starts at 1/3 each.

    :param lr: learning rate of the logits' Adam.
    :param fixed: holds (alpha, beta, gamma) still at this function of t, for t >= 2.
    """

    def __init__(
        self,
        lr: float = 2e-3,
        fixed: Callable[[int], tuple[float, float, float]] | None = None,
    ) -> None:
        self.lr = lr
        self.fixed = fixed
        self.logits = torch.zeros(0, 3)
        self._optimizer: torch.optim.Optimizer | None = None
        self._omega = Omega(*self.logits.unbind(dim=1))

    @property
    def learned(self) -> bool:
        """Whether the coefficients adapt to the data."""
        return self.fixed is None

    @property
    def omega(self) -> Omega:
        """The coefficients as they stand, as constants."""
        return self._omega

    def start_domain(self, n_past: int, device: torch.device | str = "cpu") -> None:
        """Begin domain t = ``n_past`` + 1.

        :param n_past: number of past domains.
        :param device: where the coefficients live.
        """
        if self.fixed is not None:
            values = torch.tensor(self.fixed(n_past + 1), device=device)
            self._omega = Omega(*values[:, None].expand(3, n_past))
            return
        self.logits = torch.zeros(n_past, 3, device=device, requires_grad=True)
        self._optimizer = torch.optim.Adam([self.logits], lr=self.lr, fused=True)
        self._refresh()

    @torch.no_grad()
    def step(self, estimates: BoundEstimates, c: float) -> Tensor:
        """One step of gradient descent on V_0-1; fixed coefficients stay.

        :param estimates: the errors and divergences of the current mini-batch.
        :param c: the paper's C.
        :return: V_0-1 before the step.
        """
        if self._optimizer is None or not self.learned:
            return coefficient_loss(self._omega, estimates, c)
        loss = coefficient_loss(self._omega, estimates, c)
        gradient = coefficient_gradient(self._omega, estimates, c)
        self.logits.grad = _softmax_gradient(
            torch.stack(self._omega, dim=1), torch.stack(gradient, dim=1)
        )
        self._optimizer.step()
        self._refresh()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The logits and their optimizer; Omega follows from them, or is fixed."""
        adam = self._optimizer
        return {
            "n_past": len(self._omega.alpha),
            "logits": self.logits,
            "optimizer": None if adam is None else optimizer_state(adam),
        }

    def load_state_dict(
        self, state: dict[str, Any], device: torch.device | str = "cpu"
    ) -> None:
        """Go on from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param device: where the coefficients live.
        """
        self.start_domain(state["n_past"], device)
        if self._optimizer is not None and state["optimizer"] is not None:
            load_optimizer_state(self._optimizer, state["optimizer"])
            with torch.no_grad():
                self.logits.copy_(state["logits"])
            self._refresh()

    def _refresh(self) -> None:
        values = self.logits.detach().softmax(dim=1)
        self._omega = Omega(*values.unbind(dim=1))


def _softmax_gradient(probabilities: Tensor, gradient: Tensor) -> Tensor:
    """The derivative by the logits, out of that by their softmax, in each row."""
    average = (probabilities * gradient).sum(dim=1, keepdim=True)
    return probabilities * (gradient - average)


__all__ = [
    "BoundEstimates",
    "Coefficients",
    "Omega",
    "coefficient_gradient",
    "coefficient_loss",
    "cross_domain_term",
    "divergence_term",
    "erm_term",
    "generalization_term",
    "history_term",
    "intra_domain_term",
    "unified_bound",
    "vc_constant",
]

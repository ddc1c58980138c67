"""Which old domains an update puts at risk, in the terms of the bound."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from udil_avalanche.theory.lemmas import disagreement_gap


@dataclass(frozen=True)
class DomainRisk:
    r"""What the bound says, before an update, about the error on an old domain after
    it. Theorem 3.4 has two ways to bound that error, and a domain is at risk if both
    are weak.

    :param name: of the domain.
    :param error: :math:`\epsilon_i(H_{t-1})`, of the current model on its reserve.
    :param divergence: :math:`d_{H \Delta H}(D_i, D_t)` between it and the new samples,
        in [0, 2].
    :param n_memory: :math:`\tilde N_i`, the samples that the memory holds of it.
    :param new_error: of the current model on the new samples, measured or expected.
    :param delta: the bound by the memory may fail with this probability.
    """

    name: str
    error: float
    divergence: float
    n_memory: int
    new_error: float
    delta: float = 0.05

    @property
    def by_memory(self) -> float:
        r"""What the error may rise by according to the memory (Lemma 3.1), at most 1.

        The model after the update is fitted to the :math:`\tilde N_i` samples kept, so
        its error on the domain is the one on them but for
        :math:`\sqrt{\log(2 / \delta) / (2 \tilde N_i)}`. This is Hoeffding's
        inequality for one hypothesis. With the theorem's C, which holds for all
        hypotheses of a network at once, no memory would promise anything; the order of
        the domains would be the same.
        """
        if not self.n_memory:
            return 1.0
        return min(1.0, math.sqrt(math.log(2 / self.delta) / (2 * self.n_memory)))

    @property
    def by_new_samples(self) -> float:
        r"""What the error may rise by according to the new samples (Lemma 3.3).

        The update changes the model where it is wrong about the new samples, so the
        disagreement :math:`\epsilon_t(h, H_{t-1})` to come is about the error of the
        current model on them. What changes there may change on the old domain, and
        :math:`\frac12 d_{H \Delta H}` is added for what the new samples do not show of
        it. It is not cut off at 1, so that it still tells domains apart.
        """
        return self.new_error + float(disagreement_gap(torch.tensor(self.divergence)))

    @property
    def bound(self) -> float:
        """The error that the tighter of the two allows, at most 1."""
        return min(1.0, self.error + min(self.by_memory, self.by_new_samples))

    @property
    def score(self) -> float:
        """Half the product of both, in [0, 1], by which domains are ranked: it is small
        as soon as the memory or the new samples protect the domain. It is a score, not
        a bound. The error before the update is no part of it: what was never right
        cannot be lost."""
        return self.by_memory * self.by_new_samples / 2


def ranked(risks: Iterable[DomainRisk]) -> list[DomainRisk]:
    """The domains in the order of their risk, the largest first.

    :param risks: of all domains.
    """
    return sorted(risks, key=lambda each: each.score, reverse=True)

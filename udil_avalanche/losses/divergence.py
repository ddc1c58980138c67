"""Equation (V_d), the game between encoder and discriminator, and the divergence of
the domains."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.theory.domains import domain_means, domain_weights


def discriminator_loss(domain_logits: Tensor, domains: Tensor, beta: Tensor) -> Tensor:
    r"""Equation (V_d), which the discriminator d minimises:

    .. math::
        V_d = (\sum_{i=1}^{t-1} \beta_i) \frac{1}{N_t} \sum_{x \in S_t}
              -\log [d(e(x))]_t
            + \sum_{i=1}^{t-1} \frac{\beta_i}{\tilde N_i}
              \sum_{x \in \tilde X_i} -\log [d(e(x))]_i

    The paper prints :math:`1/N_i` in the first term, which averages over the current
    domain: :math:`1/N_t` is meant.

    :param domain_logits: outputs of d before the softmax, the samples of the current
        domain first; column i belongs to past domain i, the last one to domain t.
    :param domains: domain of each memory sample (the last rows), counted from 0.
    :param beta: the coefficients of the past domains, constants here.
    """
    n_past = len(beta)
    n_current = len(domain_logits) - len(domains)
    is_current = domains.new_full((n_current,), n_past)
    surprise = F.cross_entropy(
        domain_logits, torch.cat([is_current, domains]), reduction="none"
    )
    past = domain_weights(domains, n_past) * beta[domains] * surprise[n_current:]
    return beta.sum() * surprise[:n_current].mean() + past.sum()


def encoder_alignment_loss(
    embeddings: Tensor, value: Tensor, gradient: Tensor
) -> Tensor:
    """The encoder's side of the minimax game (appendix C.3), :math:`-V_d`, without
    running the discriminator again: its own backward pass has already given the
    derivative of V_d by the embeddings, which is passed to the encoder with the
    opposite sign.

    :param embeddings: e(x), attached to the encoder's graph.
    :param value: V_d at these embeddings.
    :param gradient: the derivative of V_d at these embeddings.
    """
    loss: Tensor = _Reversed.apply(embeddings, value.detach(), gradient)
    return loss


class _Reversed(torch.autograd.Function):
    """The negative of a value whose derivative is known."""

    @staticmethod
    def forward(ctx: Any, variable: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return -value

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return -outer * gradient, None, None


def cross_entropy_divergence(
    domain_logits: Tensor, domains: Tensor, beta: Tensor
) -> Tensor:
    r"""The divergence term of the bound, with the cross-entropy of a given
    discriminator in place of its 0-1 errors:
    :math:`2 \sum_{i=1}^{t-1} \beta_i - 2 V_d`.

    The paper takes the minimum of V_d over all discriminators, which is what the
    discriminator's training aims at. The encoder lowers this term by raising V_d. V_0-1
    takes :func:`empirical_divergence` instead, as its other terms are 0-1 errors, too.

    :param domain_logits: see :func:`discriminator_loss`.
    :param domains: see :func:`discriminator_loss`.
    :param beta: see :func:`discriminator_loss`.
    """
    return 2 * beta.sum() - 2 * discriminator_loss(domain_logits, domains, beta)


def empirical_divergence(domain_logits: Tensor, domains: Tensor, n_past: int) -> Tensor:
    r"""The empirical divergence :math:`\hat d_{H \Delta H}(e(U_i), e(U_t))` between
    each past domain and the current one, from the pairwise errors of the discriminator:

    .. math::
        2 - 2 \Big[ \frac{1}{|U_i|} \sum_{x \in U_i} 1_{\Delta_i(x) < 0}
            + \frac{1}{|U_t|} \sum_{x \in U_t} 1_{\Delta_i(x) \ge 0} \Big],
        \qquad \Delta_i(x) = [d(e(x))]_i - [d(e(x))]_t

    The paper counts the complementary events. Under its minimum over d this makes no
    difference if the family of classifiers is closed under negation. But ours is one
    discriminator, trained to be *right*, and it minimises the errors above. If it is
    worse than chance on the batch, the divergence is 0, not negative.

    :param domain_logits: outputs of d, the samples of the current domain first.
    :param domains: domain of each memory sample (the last rows), counted from 0.
    :param n_past: number of past domains.
    :return: one divergence in [0, 2] per past domain.
    """
    n_current = len(domain_logits) - len(domains)
    difference = domain_logits[:, :n_past] - domain_logits[:, n_past:]
    own = difference[n_current:].gather(1, domains[:, None]).squeeze(1)
    past_error = domain_means((own < 0).to(own.dtype), domains, n_past)
    current_error = (difference[:n_current] >= 0).to(own.dtype).mean(dim=0)
    return (2 - 2 * (past_error + current_error)).clamp(min=0)

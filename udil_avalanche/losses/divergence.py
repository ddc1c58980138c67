"""Equation V_d, the game between encoder and discriminator, and the divergence that
the discriminator's errors measure."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from udil_avalanche.theory.domains import domain_means, domain_weights


def discriminator_loss(domain_logits: Tensor, domains: Tensor, beta: Tensor) -> Tensor:
    """Equation (V_d), which the discriminator d minimises:

    .. math::
        V_d = (\\sum_{i=1}^{t-1} \\beta_i) \\frac{1}{N_t} \\sum_{x \\in S_t}
              -\\log [d(e(x))]_t
            + \\sum_{i=1}^{t-1} \\frac{\\beta_i}{\\tilde N_i}
              \\sum_{x \\in \\tilde X_i} -\\log [d(e(x))]_i

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
    """The encoder's side of the game, :math:`-V_d`, from what the discriminator's own
    backward pass has left.

    ``gradient`` is the derivative of V_d by the embeddings. The backward pass hands it
    on to the encoder with the other sign, so the discriminator is not run again.

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


def empirical_divergence(domain_logits: Tensor, domains: Tensor, n_past: int) -> Tensor:
    """The empirical :math:`\\hat d_{H \\Delta H}(e(U_i), e(U_t))` of each past domain,
    from the pairwise errors of the discriminator:

    .. math::
        2 - 2 \\Big[ \\frac{1}{|U_i|} \\sum_{x \\in U_i} 1_{\\Delta_i(x) < 0}
            + \\frac{1}{|U_t|} \\sum_{x \\in U_t} 1_{\\Delta_i(x) \\ge 0} \\Big],
        \\qquad \\Delta_i(x) = [d(e(x))]_i - [d(e(x))]_t

    The paper counts the complementary events. Under its minimum over d both say the
    same, as a family of classifiers is closed under negation, but a discriminator that
    was trained to be *right* minimises the errors above. One that is worse than chance
    on the batch shows a divergence of 0, not a negative one.

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


__all__ = ["discriminator_loss", "empirical_divergence", "encoder_alignment_loss"]

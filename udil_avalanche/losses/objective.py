"""The objective: everything that a step of the model minimises, as one expression."""

import math

from torch import Tensor


def objective(
    V_l: Tensor,
    V_d: Tensor,
    V_p: Tensor,
    V_s: Tensor,
    *,
    lambda_d: float,
    lambda_p: float,
    lambda_s: float,
    t: int,
    t_power: float = 0.0,
    scale: float = 1.0,
) -> Tensor:
    r"""The model's part of the min-max objective of section 4,
    :math:`V_l - \lambda_d V_d`, with the auxiliary losses that appendix C.3 adds for
    the encoder,
    :math:`L_{enc} = -\lambda_d V_d + \lambda_p V_p + \lambda_s V_s`:

    .. math::
        \frac{V_l - \lambda_d V_d + \lambda_p V_p + \lambda_s V_s}{t^{power}}

    The rest of the min-max objective is not the model's: the discriminator minimises
    V_d, and Omega minimises V_0-1.

    :param V_l: :func:`~udil_avalanche.losses.model_loss`.
    :param V_d: :func:`~udil_avalanche.losses.discriminator_loss`.
    :param V_p: :func:`~udil_avalanche.losses.embedding_distillation_loss`.
    :param V_s: :func:`~udil_avalanche.losses.supcon_loss`.
    :param lambda_d: weight of V_d.
    :param lambda_p: weight of V_p.
    :param lambda_s: weight of V_s.
    :param t: the number of the current domain, from 1.
    :param t_power: 0 is the paper's sum over domains, 1 an average over them.
    :param scale: multiplies the whole, see
        :func:`~udil_avalanche.losses.objective_scale`; the paper's formula has 1.
    """
    total = V_l - lambda_d * V_d + lambda_p * V_p + lambda_s * V_s
    return total * scale / math.pow(t, t_power)

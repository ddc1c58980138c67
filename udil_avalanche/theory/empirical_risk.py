"""Definition 3.1: empirical risks."""

from torch import Tensor

from udil_avalanche.theory.domains import domain_means


def disagreement(predicted: Tensor, reference: Tensor) -> Tensor:
    r"""The indicator under the sums of Definition 3.1 and Theorem 3.4, one value per
    sample: :math:`1_{h(x) \ne f(x)}` where the reference is the labels,
    :math:`1_{h(x) \ne H_{t-1}(x)}` where it is the history model's predictions.

    :param predicted: the class that h predicts for each sample.
    :param reference: the class that it is compared with.
    """
    return (predicted != reference).float()


def empirical_risks(differs: Tensor, domains: Tensor, n_domains: int) -> Tensor:
    r"""Definition 3.1 for the past domains: the average of the indicator over what the
    memory holds of each domain,
    :math:`\hat\epsilon_{D_i}(h) = \frac{1}{\tilde N_i} \sum_{x \in \tilde X_i}
    1_{h(x) \ne f_i(x)}`; 0 for a domain without a sample.

    :param differs: :func:`disagreement` on samples of past domains.
    :param domains: domain of each of them, counted from 0.
    :param n_domains: number of past domains.
    """
    return domain_means(differs, domains, n_domains)


def total_error(errors: Tensor) -> Tensor:
    r"""The goal of section 3, which the bounds are about: to minimise
    :math:`\sum_{i=1}^t \epsilon_{D_i}(h)`.

    :param errors: the error of h on each of the t domains.
    """
    return errors.sum()

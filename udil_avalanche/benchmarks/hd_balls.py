"""HD-Balls, the paper's synthetic benchmark."""

import math

import torch
from torch import Tensor

from udil_avalanche.data.domain_tensors import DomainTensors, domain_of
from udil_avalanche.data.scenario import DomainScenario


def hd_balls(
    *,
    domains: int = 20,
    train_per_domain: int = 2000,
    test_per_domain: int = 2000,
    dimensions: int = 100,
    sigma: float = 0.2,
    validation: float = 0.0,
    seed: int = 0,
) -> DomainScenario:
    """High-dimensional balls on a sphere (section 5.2 of the paper).

    The points of a domain are drawn from N(mu, sigma^2 I), its centre mu uniformly from
    the unit sphere. The two classes of a domain lie on either side of the hyperplane
    that touches the sphere at mu: the label of x is 1 where x . mu > 1.

    ::

        benchmark = hd_balls(domains=5)
        model = mlp(input_size=100, n_classes=benchmark.n_classes)

    :param domains: number of domains.
    :param train_per_domain: training points of each domain.
    :param test_per_domain: test points of each domain, drawn separately.
    :param dimensions: dimension of the space.
    :param sigma: standard deviation of the points along each axis.
    :param validation: share of the training points to hold out and test on instead of
        the test points.
    :param seed: seed of all draws; centres and training points do not depend on the
        number of test points.
    """
    if min(domains, train_per_domain, test_per_domain, dimensions) < 1:
        raise ValueError("HD-Balls needs at least one domain, sample and dimension.")
    generator = torch.Generator().manual_seed(seed)
    test_generator = torch.Generator().manual_seed(seed + 1_000_003)
    centres = torch.randn(domains, dimensions, generator=generator)
    centres /= centres.norm(dim=1, keepdim=True)

    train, test = [], []
    held_out = math.ceil(validation * train_per_domain)
    for mu in centres:
        points = _ball(mu, train_per_domain, sigma, generator)
        if held_out:
            test_points, points = points[:held_out], points[held_out:]
        else:
            test_points = _ball(mu, test_per_domain, sigma, test_generator)
        train.append(_domain(points, mu))
        test.append(_domain(test_points, mu))
    return DomainScenario(train=train, test=test, n_classes=2, data="hd_balls")


def _ball(mu: Tensor, size: int, sigma: float, generator: torch.Generator) -> Tensor:
    return mu + sigma * torch.randn(size, len(mu), generator=generator)


def _domain(points: Tensor, mu: Tensor) -> DomainTensors:
    return domain_of(points, labels=(points @ mu > 1).long())

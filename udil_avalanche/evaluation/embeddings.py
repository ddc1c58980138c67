"""The embeddings of samples of every domain, projected onto a plane."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from udil_avalanche.data.scenario import DomainScenario

SAMPLES_PER_DOMAIN = 50

MOST_SAMPLES = 2000
"""Of all domains together: more points cannot be told apart in a picture."""

LARGEST_DENSE = 500
"""Up to this size, all components of a matrix are computed; beyond, only two."""


@torch.no_grad()
def projected_embeddings(
    encoder: nn.Module, benchmark: DomainScenario, device: str | torch.device = "cpu"
) -> dict[str, Any]:
    """The principal components of e(x) over test samples of all domains.

    :param encoder: e.
    :param benchmark: provides the test samples, 50 of each domain, evenly spread; fewer
        of more than 40 domains, and of some domains only if there are more than 2,000.
    :param device: where to compute.
    :return: ``x`` and ``y`` of every sample, its ``label`` and its ``domain`` (from 1),
        and the share of the variance that the two components ``explain``.
    """
    training = encoder.training
    encoder.eval()
    embeddings, labels, domains = [], [], []
    n_domains = len(benchmark.test_stream)
    of_each = max(1, min(SAMPLES_PER_DOMAIN, MOST_SAMPLES // n_domains))
    chosen = torch.linspace(1, n_domains, min(n_domains, MOST_SAMPLES)).long()
    for t in chosen.tolist():
        dataset = benchmark.test_stream[t - 1].dataset
        count = min(of_each, len(dataset))
        indices = torch.linspace(0, len(dataset) - 1, count).long().tolist()
        inputs, targets, _ = zip(*(dataset[index] for index in indices), strict=True)
        embedded = encoder(torch.stack(inputs).to(device))
        embeddings.append(embedded.flatten(start_dim=1).cpu().double())
        labels += [int(target) for target in targets]
        domains += [t] * count
    encoder.train(training)
    points, explained = _principal_components(torch.cat(embeddings))
    x, y = points.T.tolist()
    return {
        "x": [_rounded(value) for value in x],
        "y": [_rounded(value) for value in y],
        "label": labels,
        "domain": domains,
        "explained": [_rounded(value) for value in explained.tolist()],
    }


def _principal_components(embeddings: Tensor) -> tuple[Tensor, Tensor]:
    """The first two, from the products of the samples or, if these are more, of the
    features."""
    centred = embeddings - embeddings.mean(dim=0)
    by_samples = len(centred) <= centred.shape[1]
    products = centred @ centred.T if by_samples else centred.T @ centred
    variances, vectors = _largest_two(products)
    variances = variances.clamp(min=0)
    points = vectors * variances.sqrt() if by_samples else centred @ vectors
    # The sign of a component is arbitrary; this makes it the same on every machine.
    largest = points.gather(0, points.abs().argmax(dim=0, keepdim=True))
    points = points * largest.sign()
    total = centred.square().sum()
    return points, variances / total if total > 0 else torch.zeros(2)


def _largest_two(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The two largest eigenvalues of a symmetric matrix, and their vectors."""
    if len(matrix) <= LARGEST_DENSE:
        values, vectors = torch.linalg.eigh(matrix)
        return values[-2:].flip(0), vectors[:, -2:].flip(1)
    from scipy.sparse.linalg import eigsh

    # A start of its own, so that two runs of the same model give the same points.
    start = np.random.default_rng(0).normal(size=len(matrix))
    found, directions = eigsh(matrix.numpy(), k=2, v0=start)
    order = np.argsort(found)[::-1].copy()
    return torch.from_numpy(found[order]), torch.from_numpy(directions[:, order])


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")

"""The embeddings of samples of every domain, projected onto a plane."""

from typing import Any

import torch
from torch import Tensor, nn

from udil_avalanche.data.scenario import DomainScenario

SAMPLES_PER_DOMAIN = 50


@torch.no_grad()
def projected_embeddings(
    encoder: nn.Module, benchmark: DomainScenario, device: str | torch.device = "cpu"
) -> dict[str, Any]:
    """The principal components of e(x) over test samples of all domains.

    :param encoder: e.
    :param benchmark: provides the test samples, 50 of each domain, evenly spread.
    :param device: where to compute.
    :return: ``x`` and ``y`` of every sample, its ``label`` and its ``domain`` (from 1),
        and the share of the variance that the two components ``explain``.
    """
    training = encoder.training
    encoder.eval()
    embeddings, labels, domains = [], [], []
    for t, experience in enumerate(benchmark.test_stream, start=1):
        dataset = experience.dataset
        count = min(SAMPLES_PER_DOMAIN, len(dataset))
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
    """The first two, from the Gram matrix: there may be more features than samples."""
    centred = embeddings - embeddings.mean(dim=0)
    variances, vectors = torch.linalg.eigh(centred @ centred.T)
    variances, vectors = variances[-2:].flip(0).clamp(min=0), vectors[:, -2:].flip(1)
    # The sign of a component is arbitrary; this makes it the same on every machine.
    largest = vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True))
    points = vectors * largest.sign() * variances.sqrt()
    total = centred.square().sum()
    return points, variances / total if total > 0 else torch.zeros(2)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")

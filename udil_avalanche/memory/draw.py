"""A random draw from samples that arrive in several parts."""

from typing import NamedTuple

import torch
from torch import Tensor


class Draw(NamedTuple):
    """A random draw from a domain. It is known where its samples came in the random
    order of all samples, so that it can be merged with a draw from further ones.
    """

    positions: Tensor
    """Where the drawn samples are."""

    ranks: Tensor
    """Their places in the random order of all samples."""

    labels: Tensor
    """The classes of all samples."""


def draw(labels: Tensor, size: int, stratified: bool) -> Draw:
    """Draw samples at random.

    :param labels: the class of each sample.
    :param size: how many to draw; all if there are fewer.
    :param stratified: draw the classes in proportion to their frequencies.
    """
    order = torch.randperm(len(labels), device=labels.device)
    ranks = torch.arange(len(labels), device=labels.device)
    if stratified:
        ranks = order_by_share(labels[order], torch.bincount(labels))
    return Draw(order[ranks[:size]], ranks[:size], labels)


def merged(
    before: Draw, before_labels: Tensor, labels: Tensor, size: int, stratified: bool
) -> Draw:
    """A draw from all samples so far, made of the draw before and of further samples.
    It is as random as one from all of them at once, but for the rounding of shares.

    Each sample gets a random number, and those with the lowest ones are drawn. What was
    not drawn before would not be drawn now either, so nobody needs to have kept it.

    :param before: the draw from the samples before these, of the same size.
    :param before_labels: the classes of what it has drawn.
    :param labels: the class of each further sample.
    :param size: how many to draw.
    :param stratified: draw the classes in proportion to their frequencies.
    :return: the positions are those in what was drawn before, followed by the further
        samples, in ascending order.
    """
    all_labels = torch.cat([before.labels.cpu(), labels.cpu()])
    earlier = torch.rand(len(before.labels), dtype=torch.float64).sort().values
    further = torch.rand(len(labels), dtype=torch.float64)
    numbers = torch.cat([earlier[before.ranks.cpu()], further])
    order = numbers.argsort()
    if stratified:
        at_hand = torch.cat([before_labels.cpu(), labels.cpu()])
        order = order[order_by_share(at_hand[order], torch.bincount(all_labels))]
    positions = order[:size].sort().values
    everything = torch.cat([earlier, further]).sort().values
    ranks = torch.searchsorted(everything, numbers[positions])
    return Draw(positions, ranks, all_labels)


def order_by_share(labels: Tensor, counts: Tensor) -> Tensor:
    """Positions in an order whose first ones have every class in its share, rounded to
    the nearest number: the k-th sample of a class with n samples stands at (k - 1/2) /
    n. Samples of one class stay in their order.

    :param labels: classes of samples.
    :param counts: n of each class.
    """
    place: Tensor = (_rank_in_class(labels) + 0.5) / counts[labels]
    return place.argsort(stable=True)


def _rank_in_class(labels: Tensor) -> Tensor:
    """How many samples of the same class come before each."""
    order = labels.argsort(stable=True)
    _, sizes = torch.unique_consecutive(labels[order], return_counts=True)
    first = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    ranks = torch.empty_like(order)
    ranks[order] = torch.arange(len(order), device=order.device) - first
    return ranks

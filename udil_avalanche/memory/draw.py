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

    n_seen: int
    """The number of all samples."""


def draw(labels: Tensor, size: int, class_balanced: bool) -> Draw:
    """Draw samples at random.

    :param labels: the class of each sample.
    :param size: how many to draw; all if there are fewer.
    :param class_balanced: draw as evenly from all classes as they have samples.
    """
    order = torch.randperm(len(labels), device=labels.device)
    ranks = torch.arange(len(labels), device=labels.device)
    if class_balanced:
        ranks = in_turn(labels[order])
    return Draw(order[ranks[:size]], ranks[:size], len(labels))


def merged(
    before: Draw, before_labels: Tensor, labels: Tensor, size: int, class_balanced: bool
) -> Draw:
    """A draw from all samples so far, made of the draw before and of further samples.
    It is as random as one from all of them at once.

    Each sample gets a random number, and those with the lowest ones are drawn. What was
    not drawn before would not be drawn now either, so nobody needs to have kept it.

    :param before: the draw from the samples before these, of the same size.
    :param before_labels: the classes of what it has drawn.
    :param labels: the class of each further sample.
    :param size: how many to draw.
    :param class_balanced: draw as evenly from all classes as they have samples.
    :return: the positions are those in what was drawn before, followed by the further
        samples, in ascending order.
    """
    earlier = torch.rand(before.n_seen, dtype=torch.float64).sort().values
    further = torch.rand(len(labels), dtype=torch.float64)
    numbers = torch.cat([earlier[before.ranks.cpu()], further])
    order = numbers.argsort()
    if class_balanced:
        classes = torch.cat([before_labels.cpu(), labels.cpu()])
        order = order[in_turn(classes[order])]
    positions = order[:size].sort().values
    everything = torch.cat([earlier, further]).sort().values
    ranks = torch.searchsorted(everything, numbers[positions])
    return Draw(positions, ranks, len(everything))


def in_turn(labels: Tensor) -> Tensor:
    """Positions that take the first sample of every class, then the second of every
    class, and so on.

    :param labels: classes of samples.
    """
    one_hot = labels[:, None] == torch.unique(labels)
    turn: Tensor = (one_hot.cumsum(dim=0) * one_hot).sum(dim=1)
    return turn.argsort(stable=True)

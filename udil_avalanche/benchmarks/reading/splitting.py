"""Which samples of a domain to train on and which to test on."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from udil_avalanche.benchmarks.reading.bad_data import BadData


class Split(NamedTuple):
    """Positions of a domain's samples, in ascending order."""

    train: Tensor
    test: Tensor


@dataclass
class Splitter:
    """Splits one domain after the other.

    :param test_share: share of a domain to test on, if it is not split already.
    :param stratified: take that share of every class instead of the whole domain.
    :param train_per_domain: training samples of each domain; all if ``None``.
    :param validation: share of the training samples to hold out and test on instead of
        the test samples.
    :param seed: seed of all draws.
    """

    test_share: float = 0.2
    stratified: bool = False
    train_per_domain: int | None = None
    validation: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._generator = torch.Generator().manual_seed(self.seed)

    def split(self, name: str, labels: Tensor, is_test: Tensor | None = None) -> Split:
        """Split a domain.

        :param name: its name, for messages.
        :param labels: the class of each of its samples.
        :param is_test: which of them to test on, if the data are split already.
        :raises BadData: if it has too few samples.
        """
        if is_test is None:
            everything = torch.arange(len(labels))
            train, test = self._hold_out(everything, labels, self.test_share)
        else:
            train, test = (~is_test).nonzero().flatten(), is_test.nonzero().flatten()
        if self.validation:
            train, test = self._hold_out(train, labels, self.validation)
        wanted = self.train_per_domain
        if wanted is not None:
            if wanted > len(train):
                raise BadData(
                    f"train_per_domain={wanted} is more than the {len(train)} training "
                    f"samples of {name}"
                )
            drawn = torch.randperm(len(train), generator=self._generator)[:wanted]
            train = train[drawn.sort().values]
        if len(train) < 2 or len(test) == 0:
            raise BadData(
                f"the domain {name} has {len(train)} samples to train on and "
                f"{len(test)} to test on: it needs at least 2 and 1"
            )
        return Split(train, test)

    def _hold_out(self, positions: Tensor, labels: Tensor, share: float) -> Split:
        """Draw some of the positions; every class keeps one to train on."""
        order = positions[torch.randperm(len(positions), generator=self._generator)]
        classes = [order[labels[order] == c] for c in set(labels[order].tolist())]
        held_out = torch.zeros(len(labels), dtype=torch.bool)
        for group in classes if self.stratified else [order]:
            # The share to train on is rounded down.
            n_train = int((1 - share) * len(group) + 1e-9)
            held_out[group[: len(group) - n_train]] = True
        for members in classes:
            if held_out[members].all():
                held_out[members[-1]] = False
        chosen = held_out[positions]
        return Split(positions[~chosen], positions[chosen])

"""From the labelled samples of each domain to a benchmark."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from udil_avalanche.benchmarks.reading.bad_data import BadData, Findings
from udil_avalanche.benchmarks.reading.splitting import Splitter
from udil_avalanche.data.domain_tensors import LastUsed
from udil_avalanche.data.scenario import Domain, DomainScenario

Take = Callable[[Tensor, Tensor, LastUsed], Domain]
"""Makes a domain of some samples, from their positions, their labels and the slot in
which inputs that are made in bulk are kept."""


@dataclass
class DomainSamples:
    """The samples of one domain before they are split.

    :param name: name of the domain.
    :param classes: the class of each sample, by its name or its number.
    :param usable: which samples can be used.
    :param n_test: how many samples, the last ones, are for testing; ``None`` if the
        data are not split yet.
    :param take: makes a domain of some of the samples.
    """

    name: str
    classes: NDArray[Any]
    usable: NDArray[np.bool_]
    n_test: int | None
    take: Take

    @property
    def is_test(self) -> NDArray[np.bool_]:
        """Which samples are known to be for testing."""
        n = len(self.classes)
        return np.arange(n) >= n - (self.n_test or 0)

    def leave_out_untrained_classes(self, findings: Findings) -> None:
        """Leave out the test samples of classes without training samples.

        :param findings: where to note these classes.
        """
        trained = np.unique(self.classes[self.usable & ~self.is_test])
        untrained = self.usable & self.is_test & ~np.isin(self.classes, trained)
        names, counts = np.unique(self.classes[untrained], return_counts=True)
        for name, n in zip(names, counts, strict=True):
            findings.add(
                f"{self.name}: the class {name} has {n} test samples but no training "
                "samples"
            )
        self.usable = self.usable & ~untrained


def assemble(
    domains: Sequence[DomainSamples],
    *,
    sort_classes: Callable[[Iterable[Any]], list[Any]],
    splitter: Splitter,
    findings: Findings,
    data: str,
) -> DomainScenario:
    """Split the domains and make a benchmark of them.

    The classes are those of all domains together.

    :param domains: the domains in the order to learn them.
    :param sort_classes: puts the classes in order.
    :param splitter: chooses the samples to test on.
    :param findings: the problems found so far.
    :param data: what the data are.
    :raises BadData: if there are problems that are not to be skipped, or too few
        classes or samples.
    """
    for domain in domains:
        domain.leave_out_untrained_classes(findings)
    skipped = findings.settle()
    classes = sort_classes({c for d in domains for c in d.classes[d.usable].tolist()})
    if len(classes) < 2:
        raise BadData(
            "at least two classes are needed, but the data have "
            f"{f'only {classes[0]}' if classes else 'none'}"
        )

    label_of = {name: k for k, name in enumerate(classes)}
    train: list[Domain] = []
    test: list[Domain] = []
    train_slot = LastUsed()
    for domain in domains:
        positions = torch.from_numpy(np.flatnonzero(domain.usable))
        names = domain.classes[domain.usable].tolist()
        labels = torch.tensor([label_of[name] for name in names], dtype=torch.int64)
        is_test = torch.from_numpy(domain.is_test)[positions]
        split = splitter.split(
            domain.name, labels, None if domain.n_test is None else is_test
        )
        for chosen, stream, slot in (
            (split.train, train, train_slot),
            (split.test, test, LastUsed()),
        ):
            stream.append(domain.take(positions[chosen], labels[chosen], slot))
    return DomainScenario(
        train=train,
        test=test,
        n_classes=len(classes),
        data=data,
        details={
            "domain_names": [domain.name for domain in domains],
            "class_names": [str(name) for name in classes],
            "skipped": skipped,
        },
    )

"""Domains as an Avalanche benchmark."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
from avalanche.benchmarks import CLScenario, benchmark_from_datasets, with_task_labels
from torch import Tensor

from udil_avalanche.data.tensor_dataset import domain_dataset


class Domain(Protocol):
    """The samples of one domain, as tensors or as files.

    :class:`~udil_avalanche.DomainTensors` holds tensors, made by
    :func:`~udil_avalanche.domain_of`; :class:`~udil_avalanche.ImageFiles` reads files.
    """

    labels: Tensor
    targets: list[int]

    @property
    def shape(self) -> tuple[int, ...] | None: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[Tensor, int]: ...


class DomainScenario(CLScenario):  # type: ignore[misc]
    """An Avalanche benchmark whose experiences are domains with the same classes.

    All samples have task label 0, so that a model cannot use it to distinguish the
    domains.

    Two domains of tensors::

        first, second = (
            domain_of(torch.randn(90, 4) + shift, torch.randint(3, (90,)))
            for shift in (0, 1)
        )
        benchmark = DomainScenario(
            train=[first, second], test=[first, second], n_classes=3, data="shifted"
        )
        for experience in benchmark.train_stream:
            strategy.train(experience)

    :param train: training domains, in order.
    :param test: the domain to test on for each of them.
    :param n_classes: number of classes.
    :param data: name of the data, e.g. ``"mnist"``.
    :param details: further facts about them to store with a run, by name.
    """

    def __init__(
        self,
        *,
        train: Sequence[Domain],
        test: Sequence[Domain],
        n_classes: int,
        data: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        _check_domains(train, test, n_classes)
        streams: dict[str, Any] = {
            name: [domain_dataset(domain) for domain in domains]
            for name, domains in (("train", train), ("test", test))
        }
        labelled = with_task_labels(benchmark_from_datasets(**streams))
        super().__init__(labelled.streams.values())
        self.n_classes = n_classes
        self.input_shape = tuple(test[0][0][0].shape)
        """Shape of one input."""
        self.data = data
        self.details = dict(details or {})
        self._domains = [*train, *test]

    @cached_property
    def fingerprint(self) -> str:
        """What tells these data from others: the name, the labels of every domain in
        their order, and what the domains say about their files by ``content``.
        """
        digest = hashlib.sha256()
        facts = {"data": self.data, "n_classes": self.n_classes, **self.details}
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for domain in self._domains:
            labels = domain.labels.to("cpu", torch.int64).numpy().astype("<i8")
            digest.update(f"{len(labels)} {getattr(domain, 'content', '')}".encode())
            digest.update(labels.tobytes())
        return digest.hexdigest()


def _check_domains(
    train: Sequence[Domain], test: Sequence[Domain], n_classes: int
) -> None:
    """Refuse domains that would make a run fail or give wrong results."""
    if not train or len(train) != len(test):
        raise ValueError(
            f"There are {len(train)} training and {len(test)} test domains, but there "
            "must be equally many, and at least one."
        )
    shapes = {}
    for kind, domains in (("training", train), ("test", test)):
        for t, domain in enumerate(domains, start=1):
            if len(domain) == 0:
                raise ValueError(f"The {kind} data of domain {t} are empty.")
            low, high = int(domain.labels.min()), int(domain.labels.max())
            if low < 0 or high >= n_classes:
                raise ValueError(
                    f"The {kind} labels of domain {t} range from {low} to {high}, but "
                    f"with {n_classes} classes they are 0 to {n_classes - 1}."
                )
            if domain.shape is not None:
                shapes[domain.shape] = f"the {kind} data of domain {t}"
    if len(shapes) > 1:
        found = ", ".join(f"{shape} in {where}" for shape, where in shapes.items())
        raise ValueError(f"The inputs differ in their shape: {found}.")

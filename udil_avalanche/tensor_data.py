"""Domains that live in memory as tensors, as datasets and streams of Avalanche."""

from collections.abc import Sequence
from typing import Any

from avalanche.benchmarks import CLScenario, benchmark_from_datasets, with_task_labels

from udil_avalanche.domain_tensors import DomainTensors, OneSlot, domain_of
from udil_avalanche.tensor_dataset import TensorSource, domain_dataset, tensor_source


class DomainScenario(CLScenario):
    """An Avalanche benchmark whose experiences are domains with the same classes.

    All samples have task label 0, so that nothing tells the domains apart.

    :param train: training domains, in order.
    :param test: the domain to test on for each of them.
    :param n_classes: number of classes.
    :param data: what the data are, e.g. ``"mnist"``.
    """

    def __init__(
        self,
        *,
        train: Sequence[DomainTensors],
        test: Sequence[DomainTensors],
        n_classes: int,
        data: str,
    ) -> None:
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


__all__ = [
    "DomainScenario",
    "DomainTensors",
    "OneSlot",
    "TensorSource",
    "domain_of",
    "tensor_source",
]

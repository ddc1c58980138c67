"""Images per second, with and without training."""

import copy
import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from avalanche.benchmarks import RotatedMNIST
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from avalanche.training.supervised import Naive
from avalanche.training.templates import SupervisedTemplate
from torch.utils.data import DataLoader
from torch.utils.data import TensorDataset as TorchTensorDataset

from bench.laps import Timed, by_turns, median_ratio, seconds
from bench.scale import Scale
from bench.workload import rotated_digits, silent_evaluator
from udil_avalanche.benchmarks import rotated_mnist
from udil_avalanche.benchmarks.fetching.mnist_files import load_mnist
from udil_avalanche.data.tensor_dataset import tensor_source
from udil_avalanche.models.mlp import mlp
from udil_avalanche.plugins import TensorLoaderPlugin
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader

BATCH = 128


def loading(scale: Scale) -> dict[str, float]:
    """Images per second on each data path, without training.

    :param scale: how much to measure.
    """
    ours = rotated_digits(scale.root, [scale.images]).train_stream[0].dataset
    source = tensor_source(ours)
    assert source is not None
    x, y = source.domain.batch(source.indices[: scale.slow_images])
    plain = _make_taskaware_classification_dataset(
        TorchTensorDataset(x, y), targets=y.tolist(), task_labels=0
    )
    paths: dict[str, tuple[int, Iterable[Any]]] = {
        "our loader": (len(ours), TensorLoader(ours, source, BATCH, shuffle=True)),
        "DataLoader on our benchmark": (len(ours), _loader(ours)),
        "DataLoader(AvalancheDataset) of tensors": (len(plain), _loader(plain)),
    }
    theirs = _avalanches(scale)
    if theirs is not None:
        dataset = theirs.dataset.train()
        paths["Avalanche's RotatedMNIST"] = (len(dataset), _loader(dataset))
    cases: dict[str, Timed] = {
        name: partial(seconds, partial(_read_all, loader))
        for name, (_, loader) in paths.items()
    }
    times = by_turns(cases, scale.repeats)
    return {name: n / median(times[name]) for name, (n, _) in paths.items()}


def training(scale: Scale) -> dict[str, float]:
    """Images per second of Fine-tune on our rotated MNIST, including generating the
    domain, and of Avalanche's ``Naive`` on theirs, with the same model and batch.

    :param scale: how much to measure.
    """
    benchmark = rotated_mnist(
        scale.root, domains=scale.repeats, train_per_domain=scale.images
    )
    domains = iter(benchmark.train_stream)
    fine_tune = _naive([TensorLoaderPlugin()])
    cases: dict[str, Timed] = {
        "Fine-tune": lambda: (
            seconds(lambda: fine_tune.train(next(domains))) / scale.images
        )
    }
    theirs = _avalanches(scale)
    if theirs is not None:
        plain = _naive([])
        cases["Avalanche's Naive"] = lambda: (
            seconds(lambda: plain.train(theirs)) / scale.slow_images
        )
    times = by_turns(cases, scale.repeats)
    results = {name: 1 / median(values) for name, values in times.items()}
    if theirs is not None:
        results["times as many"] = median_ratio(
            times["Avalanche's Naive"], times["Fine-tune"]
        )
    return results


def _avalanches(scale: Scale) -> Any:
    """Some images of Avalanche's ``RotatedMNIST``, if MNIST is available."""
    if load_mnist(scale.root).source != "mnist":
        return None
    benchmark = RotatedMNIST(
        n_experiences=1, rotations_list=[45], seed=0, dataset_root=Path(scale.root)
    )
    experience = copy.copy(benchmark.train_stream[0])
    whole = experience.dataset
    chosen = random.Random(0).sample(range(len(whole)), scale.slow_images)
    experience._dataset = whole.subset(chosen)
    return experience


def _loader(dataset: Any) -> DataLoader[Any]:
    return DataLoader(dataset, BATCH, shuffle=True, collate_fn=dataset.collate_fn)


def _read_all(loader: Iterable[Any]) -> None:
    for _ in loader:
        pass


def _naive(plugins: list[Any]) -> SupervisedTemplate:
    model = mlp()
    return Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1, fused=True),
        train_mb_size=BATCH,
        plugins=plugins,
        evaluator=silent_evaluator(),
    )


__all__ = ["loading", "training"]

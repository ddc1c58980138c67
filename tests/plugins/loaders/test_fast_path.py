"""The fast paths give the same numbers as the plain ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from avalanche.benchmarks import benchmark_from_datasets, with_task_labels
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from avalanche.training.plugins import SupervisedPlugin
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.plugins import HistoryModelPlugin, LwFPlugin, TensorLoaderPlugin
from udil_avalanche.plugins.loaders.tensor_loader import TensorLoader
from udil_avalanche.strategies import UDIL


def weights(model: nn.Module) -> Tensor:
    return torch.cat([each.detach().flatten() for each in model.parameters()])


class NoTensors(torch.utils.data.Dataset):
    """The samples of a domain, as a dataset that is not recognised as tensors."""

    def __init__(self, samples: list[Any]) -> None:
        self.samples = [(x, y) for x, y, _ in samples]
        self.targets = [y for _, y in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


def without_tensors(scenario: DomainScenario) -> Any:
    """The same benchmark, for which Avalanche's loader is the only one."""
    streams = {
        stream.name: [
            _make_taskaware_classification_dataset(
                NoTensors(list(experience.dataset)), task_labels=0
            )
            for experience in stream
        ]
        for stream in (scenario.train_stream, scenario.test_stream)
    }
    return with_task_labels(benchmark_from_datasets(**streams))


class Loaders(SupervisedPlugin):
    """Notes what kind of loader is used, and makes up for the random numbers that each
    draws from torch's generator."""

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        self.kind = type(strategy.dataloader)

    def before_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        torch.manual_seed(strategy.clock.train_iterations)

    def after_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        torch.manual_seed(strategy.clock.train_iterations)


class AnotherLoader:
    """The mini-batches of a loader, through one of an unknown class."""

    def __init__(self, loader: TensorLoader) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        for x, *rest in self.loader:
            yield [self.change(x), *rest]

    def change(self, x: Tensor) -> Tensor:
        return x.clone()


class Mirrored(AnotherLoader):
    def change(self, x: Tensor) -> Tensor:
        return x.flip(-1)


class MirroredInPlace(AnotherLoader):
    def change(self, x: Tensor) -> Tensor:
        return x.copy_(x.flip(-1))


class AskInEachStep(SupervisedPlugin):
    """Takes the loader away from the history model."""

    def __init__(self, history: HistoryModelPlugin) -> None:
        super().__init__()
        self.history = history

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        self.history._loader = None


def udil(model: nn.Module, silent: Any, **settings: Any) -> UDIL:
    return UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        mem_size=30,
        batch_size_mem=10,
        train_mb_size=16,
        train_epochs=2,
        evaluator=silent(),
        **settings,
    )


def test_udil_trains_alike_by_indexing_and_by_avalanches_loader(
    make_scenario: Any, make_model: Any, silent: Any
) -> None:
    results, kinds = [], []
    scenario = make_scenario(domains=3, size=50)
    for benchmark in (scenario, without_tensors(scenario)):
        model, loaders = make_model(), Loaders()
        torch.manual_seed(1)
        strategy = udil(model, silent, plugins=[loaders])
        strategy.train(benchmark.train_stream, shuffle=False)
        results.append(weights(model))
        kinds.append(loaders.kind)
    assert kinds[0] is TensorLoader and kinds[1] is not TensorLoader
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_answers_of_the_history_model_are_those_that_it_gives_in_each_step(
    make_scenario: Any, make_model: Any, silent: Any
) -> None:
    results, passes = [], []
    for each_step in (False, True):
        model = make_model()
        torch.manual_seed(1)
        strategy = udil(model, silent)
        if each_step:
            strategy.plugins.append(AskInEachStep(strategy.history))
        with counted_rows(strategy.history) as rows:
            strategy.train(make_scenario(domains=3, size=50).train_stream)
        results.append(weights(model))
        passes.append(sum(rows))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
    # Of each domain but the first: the memory, and the domain itself when it begins.
    others = 2 * (30 + 50)
    assert passes == [2 * 50 + others, 2 * 2 * 50 + others], "once instead of twice"


@contextmanager
def counted_rows(history: HistoryModelPlugin) -> Iterator[list[int]]:
    """How many samples the history model is asked about, call by call."""
    rows: list[int] = []

    def count(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        if module is history.model:
            rows.append(len(inputs[0]))

    hook = register_module_forward_hook(count)
    try:
        yield rows
    finally:
        hook.remove()


@pytest.mark.parametrize("loader", [AnotherLoader, Mirrored, MirroredInPlace])
def test_answers_are_about_the_inputs_that_the_model_sees(
    loader: Any, naive: Any, make_scenario: Any, make_model: Any
) -> None:
    """Whatever other plugins do to them, and whoever brings them."""

    class Replace(SupervisedPlugin):
        def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
            strategy.dataloader = loader(strategy.dataloader)

    class Check(SupervisedPlugin):
        checked = 0

        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            if history.model is not None:
                answers = history.current_logits(strategy, len(strategy.mb_y))
                torch.testing.assert_close(answers, history(strategy.mb_x))
                self.checked += 1

    history, check = HistoryModelPlugin(), Check()
    lwf = LwFPlugin(history)
    plugins = [TensorLoaderPlugin(), history, lwf, Replace(), check]
    naive(make_model(), plugins).train(make_scenario().train_stream)
    assert check.checked == 8

"""Joint training on all domains."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from avalanche.benchmarks.utils.classification_dataset import (
    _make_taskaware_classification_dataset,
)
from avalanche.training.plugins import SupervisedPlugin
from avalanche.training.supervised import JointTraining, Naive
from avalanche.training.supervised.joint_training import AlreadyTrainedError

from udil_avalanche.data.domain_tensors import DomainTensors, LastUsed
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.plugins import TensorLoaderPlugin
from udil_avalanche.strategies import Joint


@pytest.fixture
def make(make_model: Any, silent: Any) -> Callable[..., Any]:
    def build(kind: type, *metrics: Any, **kwargs: Any) -> Any:
        model = make_model()
        torch.manual_seed(3)
        settings = {
            "criterion": torch.nn.CrossEntropyLoss(),
            "train_mb_size": 16,
            "train_epochs": 2,
            "eval_mb_size": 200,
            "plugins": [TensorLoaderPlugin()],
        }
        return kind(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
            evaluator=silent(*metrics),
            **(settings | kwargs),
        )

    return build


def weights(strategy: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in strategy.model.parameters()])


class Watch(SupervisedPlugin):
    """Keeps the mini-batches of each epoch and what they come from."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[list[list[torch.Tensor]]] = []
        self.stored: torch.Tensor | None = None

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        self.epochs.append([])
        source = getattr(strategy.dataloader, "source", None)
        self.stored = None if source is None else source.domain.inputs

    def before_forward(self, strategy: Any, **kwargs: Any) -> None:
        self.epochs[-1].append(list(strategy.mbatch))


@pytest.fixture
def images() -> tuple[DomainScenario, list[int]]:
    """Three domains of 8-bit images that share a slot, and which of them was made."""
    made: list[int] = []
    slot = LastUsed()

    def domain(t: int, size: int, slot: LastUsed) -> DomainTensors:
        pixels = torch.randint(256, (size, 6), dtype=torch.uint8)

        def make_inputs() -> torch.Tensor:
            made.append(t)
            return pixels

        return DomainTensors(make_inputs, torch.randint(3, (size,)), slot)

    scenario = DomainScenario(
        train=[domain(t, 20 + t, slot) for t in range(3)],
        test=[domain(10 + t, 5, LastUsed()) for t in range(3)],
        n_classes=3,
        data="noise",
    )
    made.clear()
    return scenario, made


def rows(batches: list[list[torch.Tensor]]) -> list[list[float]]:
    x, y, tasks = (torch.cat(field) for field in zip(*batches, strict=True))
    assert tasks.unique().tolist() == [0]
    return torch.cat([x, y[:, None]], dim=1).tolist()


def test_every_epoch_is_all_samples_of_all_domains_in_an_order_of_its_own(
    make: Any, images: Any
) -> None:
    scenario, made = images
    watch = Watch()
    make(Joint, plugins=[TensorLoaderPlugin(), watch]).train(scenario.train_stream)
    assert made == [0, 1, 2], "each domain is made once, whatever the order"
    assert watch.stored.dtype == torch.uint8
    assert watch.stored.shape == (63, 6)

    everything = [
        [*x.tolist(), y]
        for experience in scenario.train_stream
        for x, y, _ in experience.dataset
    ]
    first, second = (rows(batches) for batches in watch.epochs)
    assert sorted(first) == sorted(second) == sorted(everything)
    assert first != second and first != everything
    assert [len(batch[1]) for batch in watch.epochs[0]] == [16, 16, 16, 15]


def test_without_shuffling_it_is_avalanches_joint_training(
    make: Any, make_scenario: Any
) -> None:
    scenario, results = make_scenario(), []
    for kind in (Joint, JointTraining):
        strategy = make(kind)
        strategy.train(scenario.train_stream, shuffle=False)
        results.append(weights(strategy))
    torch.testing.assert_close(*results)


def test_parts_of_domains(make: Any, images: Any) -> None:
    scenario, _ = images
    stream, expected = [], []
    for experience in scenario.train_stream:
        part = copy.copy(experience)
        part._dataset = experience.dataset.subset([7, 3, 11])
        expected += [[*x.tolist(), y] for x, y, _ in part._dataset]
        stream.append(part)
    watch = Watch()
    make(Joint, plugins=[watch]).train(stream, shuffle=False)
    assert rows(watch.epochs[0]) == expected


def test_datasets_that_are_not_plain_tensors_go_the_way_of_avalanche(
    make: Any, make_scenario: Any
) -> None:
    results = []
    for kind in (Joint, JointTraining):
        scenario = make_scenario()
        last = scenario.train_stream[2]
        last._dataset = _make_taskaware_classification_dataset(
            last.dataset, transform=lambda x: 2 * x
        )
        watch = Watch()
        strategy = make(kind, plugins=[TensorLoaderPlugin(), watch])
        strategy.train([*scenario.train_stream[:2], last])
        assert watch.stored is None
        results.append(weights(strategy))
    assert torch.equal(*results)


def test_it_fills_the_last_row_and_is_better_than_fine_tuning(
    make: Any, make_scenario: Any
) -> None:
    scenario = make_scenario(domains=5, size=200)
    metrics, plain = DomainMetrics(), DomainMetrics()
    joint = make(Joint, metrics, train_epochs=5)
    joint.train(scenario.train_stream)
    joint.eval(scenario.test_stream)
    naive = make(Naive, plain, train_epochs=5)
    naive.train(scenario.train_stream)
    naive.eval(scenario.test_stream)
    assert np.isnan(metrics.matrix[:4]).all()
    assert not np.isnan(metrics.matrix[4]).any()
    assert metrics.result()["avg_acc"] > plain.result()["avg_acc"] + 10
    assert metrics.result()["forgetting"] is None


def test_the_loss_is_the_cross_entropy_if_nothing_is_said(
    make_model: Any, make_scenario: Any, silent: Any
) -> None:
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    strategy = Joint(
        model=model, optimizer=optimizer, train_mb_size=64, evaluator=silent()
    )
    losses: list[tuple[float, float]] = []

    class Losses(SupervisedPlugin):
        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            entropy = torch.nn.functional.cross_entropy(
                strategy.mb_output, strategy.mb_y
            )
            losses.append((float(strategy.loss), float(entropy)))

    strategy.plugins.insert(0, Losses())
    strategy.train(make_scenario().train_stream)
    assert len(losses) == 3
    assert all(loss == pytest.approx(entropy) for loss, entropy in losses)


def test_it_lets_go_of_the_data_and_trains_once(make: Any, images: Any) -> None:
    scenario, _ = images
    strategy = make(Joint)
    strategy.train(scenario.train_stream)
    strategy.eval(scenario.test_stream)
    assert strategy.adapted_dataset is None
    assert len(strategy.dataloader) == 0
    with pytest.raises(AlreadyTrainedError):
        strategy.train(scenario.train_stream)

"""Three small domains that contradict each other, and strategies on them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from avalanche.benchmarks import benchmark_from_datasets, with_task_labels
from avalanche.benchmarks.utils import _make_taskaware_tensor_classification_dataset
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from torch import Tensor, nn

from udil_avalanche.evaluation.loggers import WandBLogger

DOMAIN_ANGLES = (0.0, 1.0, 2.5)
TEST_SIZES = (30, 51, 17)
TRAIN_SIZE = 64


def domain_samples(size: int, angle: float, seed: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(size, 2, generator=torch.Generator().manual_seed(seed))
    direction = torch.tensor([torch.tensor(angle).cos(), torch.tensor(angle).sin()])
    return x, (x @ direction > 0).long()


@pytest.fixture(autouse=True)
def reproducible() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def test_data() -> list[tuple[Tensor, Tensor]]:
    return [
        domain_samples(size, angle, seed=100 + i)
        for i, (size, angle) in enumerate(zip(TEST_SIZES, DOMAIN_ANGLES, strict=True))
    ]


@pytest.fixture
def benchmark(test_data: list[tuple[Tensor, Tensor]]) -> Any:
    train_data = [
        domain_samples(TRAIN_SIZE, angle, seed=i)
        for i, angle in enumerate(DOMAIN_ANGLES)
    ]
    return with_task_labels(
        benchmark_from_datasets(
            **{
                name: [
                    _make_taskaware_tensor_classification_dataset(x, y, task_labels=0)
                    for x, y in domains
                ]
                for name, domains in {"train": train_data, "test": test_data}.items()
            }
        )
    )


@pytest.fixture
def make_strategy() -> Callable[..., Naive]:
    def make(*metrics: Any, cls: type = Naive, loggers: Any = (), **kwargs: Any) -> Any:
        model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        return cls(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            criterion=nn.CrossEntropyLoss(),
            train_mb_size=16,
            train_epochs=2,
            eval_mb_size=7,
            evaluator=EvaluationPlugin(*metrics, loggers=list(loggers)),
            **kwargs,
        )

    return make


@pytest.fixture
def wandb_logger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Our logger on a real run of Weights & Biases that stays offline."""
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    settings = wandb.Settings(mode="offline", console="off", x_disable_stats=True)
    yield WandBLogger(dir=tmp_path, save_code=False, params={"settings": settings})
    wandb.finish()

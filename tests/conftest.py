"""A domain-incremental problem that is small enough to train on in a test."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from avalanche.training.plugins import EvaluationPlugin
from PIL import Image
from torch import nn

from examples.core50_stand_in import make_core50_sample
from udil_avalanche.benchmarks import load_mnist
from udil_avalanche.data.domain_tensors import DomainTensors, domain_of
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.models.mlp import EncoderPredictor

N_FEATURES = 6
N_CLASSES = 3
LONG = (
    "sweep/test_engines.py",
    "runs/test_experiment.py",
    "learner/test_exporting.py",
    "learner/test_update.py",
    "strategies/test_udil.py",
    "runs/state/test_kill_anywhere.py",
    "test_wheel.py",
    "learner/test_estimator.py",
)
"""The files that take longest: processes that start, are killed and start again,
networks that are exported."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the longest files, so that with two processes none of them is left
    for the end, when one process would wait for the other."""
    places = {Path(__file__).parent / file: place for place, file in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


@pytest.fixture(autouse=True)
def one_thread_and_one_seed() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # A run switches this on for the whole process.
    torch.set_flush_denormal(False)


@pytest.fixture
def make_scenario() -> Callable[..., DomainScenario]:
    """Makes a benchmark: the classes are three Gaussians, which each domain turns."""

    def make(domains: int = 3, size: int = 64, one_class: bool = False) -> Any:
        generator = torch.Generator().manual_seed(1)
        centres = 2 * torch.randn(N_CLASSES, N_FEATURES, generator=generator)
        streams: dict[str, list[DomainTensors]] = {"train": [], "test": []}
        for t in range(domains):
            square = torch.randn(N_FEATURES, N_FEATURES, generator=generator)
            turn = torch.linalg.qr(square).Q
            for stream in streams.values():
                labels = torch.randint(N_CLASSES, (size,), generator=generator)
                if one_class:
                    labels = torch.full_like(labels, t % N_CLASSES)
                noise = torch.randn(size, N_FEATURES, generator=generator)
                inputs = (centres[labels] + noise) @ turn
                stream.append(domain_of(inputs, labels))
        return DomainScenario(**streams, n_classes=N_CLASSES, data="gaussians")

    return make


@pytest.fixture
def make_model() -> Callable[[], EncoderPredictor]:
    """Makes a small h = p o e, always with the same weights."""

    def make() -> EncoderPredictor:
        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(N_FEATURES, 16), nn.ReLU())
        return EncoderPredictor(encoder, nn.Linear(16, N_CLASSES))

    return make


@pytest.fixture
def silent() -> Callable[[], EvaluationPlugin]:
    """Makes an evaluator that logs nothing."""

    def make(*metrics: Any) -> EvaluationPlugin:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return EvaluationPlugin(*metrics, loggers=[])

    return make


@pytest.fixture(scope="session")
def mnist_root() -> Path:
    """The project's data folder, with the real MNIST in it."""
    root = Path(__file__).parents[1] / "data"
    if load_mnist(root).source != "mnist":
        pytest.skip("the whole of MNIST could not be fetched")
    return root


@pytest.fixture
def write_image() -> Callable[..., Path]:
    """Writes an image whose left half has the colour and whose right half is black."""

    def write(path: Path, colour: tuple[int, int, int] = (200, 100, 50)) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.zeros((10, 12, 3), np.uint8)
        pixels[:, :6] = colour
        Image.fromarray(pixels).save(path)
        return path

    return write


@pytest.fixture
def write_tree(write_image: Callable[..., Path]) -> Callable[..., Path]:
    """Writes images below ``root/<domain>/<class>``, as many as ``counts`` says."""

    def write(root: Path, counts: dict[str, dict[str, int]]) -> Path:
        for t, (domain, classes) in enumerate(counts.items()):
            for name, n in classes.items():
                (root / domain / name).mkdir(parents=True, exist_ok=True)
                for k in range(n):
                    colour = (20 * t, 5 * k, 10 * len(name))
                    write_image(root / domain / name / f"{k}.png", colour)
        return root

    return write


@pytest.fixture(scope="session")
def write_sensors() -> Callable[..., Path]:
    """Writes arrays of raw readings as sensors give them: columns of very different
    scales far from 0, some readings far too large, one sensor that never changes and
    one that starts to in the second domain. Later domains drift."""

    def write(root: Path, domains: int = 3, size: int = 200) -> Path:
        rng = np.random.default_rng(0)
        classes = rng.normal(size=(N_CLASSES, 12))
        scales = 10.0 ** rng.integers(-4, 6, 12)
        root.mkdir(parents=True, exist_ok=True)
        for t in range(domains):
            y = np.arange(size) % N_CLASSES
            x = 3 * classes[y] + rng.normal(size=(size, 12)) + 2 * t + 20
            x = x * scales
            x[rng.random(x.shape) < 0.005] *= 1e4
            x[:, 0] = 7.0
            x[:, 1] = 300.0 if t == 0 else 300 + 30 * rng.normal(size=size)
            np.savez(root / f"day{t + 1}.npz", x=x, y=y)
        return root

    return write


@pytest.fixture(scope="session")
def core50_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small stand-in for CORe50: 11 sessions of 12 objects."""
    root = tmp_path_factory.mktemp("core50")
    make_core50_sample(root, objects=12, frames=5, size=32)
    return root

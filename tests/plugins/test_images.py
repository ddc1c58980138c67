"""Memory, teachers and BatchNorm when samples are images."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from udil_avalanche.benchmarks import seq_core50
from udil_avalanche.data.scenario import DomainScenario
from udil_avalanche.memory.balanced import BalancedMemory
from udil_avalanche.models.image_input import IMAGENET, ImageInput
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins import (
    BalancedReplayPlugin,
    EmbeddingDistillationPlugin,
    GEMPlugin,
    HistoryModelPlugin,
    ImageLoaderPlugin,
    RandomFlipPlugin,
)
from udil_avalanche.plugins.training.random_flip import flip
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.strategies import UDIL


@pytest.fixture
def scenario(core50_root: Path) -> DomainScenario:
    """Three domains of 12 objects, 16 x 16 pixels."""
    return seq_core50(
        core50_root, domains=3, objects=12, image_size=16, verify_images=False
    )


@pytest.fixture
def make_resnet() -> Callable[[], EncoderPredictor]:
    """Makes a residual network with BatchNorm, small and always with the same
    weights."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(8, 8, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(x + self.norm(self.conv(x)))

    def make() -> EncoderPredictor:
        torch.manual_seed(0)
        encoder = nn.Sequential(
            ImageInput(*IMAGENET),
            nn.Conv2d(3, 8, 4, stride=4),
            nn.BatchNorm2d(8),
            Block(),
            Block(),
        )
        head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 12))
        return EncoderPredictor(encoder, head)

    return make


@pytest.mark.parametrize(
    "strategy", [name for name in METHODS if METHODS[name].build_head is None]
)
def test_every_strategy_learns_images_with_batchnorm(
    strategy: str,
    scenario: DomainScenario,
    make_resnet: Callable[[], EncoderPredictor],
    silent: Callable[..., Any],
    tmp_path: Path,
) -> None:
    steps = {"epochs": 2, "batch_size": 16, "optimizer": "adam", "lr": 1e-3}
    options = {**steps, "domains": 3, "objects": 12, "image_size": 16, "workers": 0}
    settings = resolve(strategy, "seq_core50", options=options, configs=tmp_path)
    learner: Any = build_strategy(settings, make_resnet(), evaluator=silent())
    joint = strategy == "Joint"
    lessons: Any = [scenario.train_stream] if joint else scenario.train_stream
    for lesson in lessons:
        learner.train(lesson)
        learner.eval(scenario.test_stream)
    for value in learner.model.state_dict().values():
        assert value.isfinite().all()
    n_joint_domains = 3 if joint else 1
    steps_a_domain = 2 * math.ceil(n_joint_domains * 48 / 16)
    assert learner.clock.train_iterations == len(lessons) * steps_a_domain
    assert learner.model.encoder[2].num_batches_tracked == len(lessons) * steps_a_domain


def test_the_memory_holds_bytes(core50_root: Path) -> None:
    size = 64
    scenario = seq_core50(
        core50_root, domains=2, objects=12, image_size=size, verify_images=False
    )
    memory = BalancedMemory(40)
    for experience in scenario.train_stream:
        dataset = experience.dataset
        labels = torch.as_tensor(list(dataset.targets))
        memory.add_domain(dataset, labels, torch.device("cpu"))
    x = memory.fields[0]
    assert x.dtype == torch.uint8 and x.shape == (40, 3, size, size)
    assert x.untyped_storage().nbytes() == 40 * 3 * size * size
    assert {field.numel() for field in memory.fields[1:]} == {40}


def test_half_of_a_batch_is_mirrored_and_teachers_are_told(
    scenario: DomainScenario,
    make_resnet: Callable[[], EncoderPredictor],
    naive: Callable[..., Any],
) -> None:
    replay, mirror = BalancedReplayPlugin(20, 10), RandomFlipPlugin()
    history = HistoryModelPlugin(replay, flip=mirror)
    distillation = EmbeddingDistillationPlugin(replay, history)
    shares = []

    class Check(EmbeddingDistillationPlugin):
        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            shares.append(mirror.flipped.float().mean())
            batch = replay.batch
            if batch is None:
                return
            seen = strategy.mb_x[batch.n_current :]
            stored = replay.memory.fields[0][batch.positions]
            assert torch.equal(seen, flip(stored, mirror.flipped[batch.n_current :]))
            assert history.model is not None
            with torch.no_grad():
                embeddings = history.model.encoder(seen).flatten(1)
                logits = history.model(seen)
            torch.testing.assert_close(history.batch_embeddings(batch), embeddings)
            torch.testing.assert_close(history.batch_logits(batch), logits)
            checked.append(len(seen))

    checked: list[int] = []
    plugins = [
        ImageLoaderPlugin(workers=0),
        *(replay, mirror, history, distillation, Check(replay, history)),
    ]
    strategy = naive(make_resnet(), plugins, train_epochs=2)
    for experience in scenario.train_stream:
        strategy.train(experience)
    assert len(checked) == 12
    assert 0.4 < torch.stack(shares).mean() < 0.6
    stored = replay.memory.fields[0][replay.memory.domains == 0]
    files = scenario.train_stream[0].dataset._flat_data._datasets[0]
    originals, _ = files.batch(torch.arange(len(files)))
    for image in stored:
        assert (originals == image).flatten(1).all(dim=1).any(), "as it is in its file"


def test_udil_mirrors_before_anyone_looks(
    scenario: DomainScenario,
    make_resnet: Callable[[], EncoderPredictor],
    silent: Callable[..., Any],
) -> None:
    model, mirror = make_resnet(), RandomFlipPlugin()
    strategy = UDIL(
        model=model,
        optimizer=torch.optim.Adam(model.parameters()),
        mem_size=20,
        lambda_d=0.1,
        lambda_p=0.1,
        lambda_s=0.01,
        train_mb_size=16,
        flip=mirror,
        evaluator=silent(),
    )
    assert strategy.history.flip is mirror
    assert strategy.plugins.index(strategy.replay) < strategy.plugins.index(mirror)
    for experience in scenario.train_stream:
        strategy.train(experience)
    assert strategy.replay.memory.fields[0].dtype == torch.uint8


def test_the_running_statistics_of_a_joint_batch_are_those_of_both_parts(
    scenario: DomainScenario,
    make_resnet: Callable[[], EncoderPredictor],
    naive: Callable[..., Any],
) -> None:
    seen = []

    def keep(module: nn.Module, args: Any, out: Any) -> None:
        if module.training:
            seen.append(args[0].mean(dim=(0, 2, 3)).detach())

    model = make_resnet()
    norm = model.encoder[2]
    assert isinstance(norm, nn.BatchNorm2d)
    norm.register_forward_hook(keep)
    replay = BalancedReplayPlugin(20, 10)
    strategy = naive(model, [ImageLoaderPlugin(0), replay], train_epochs=1)
    for experience in scenario.train_stream[:2]:
        strategy.train(experience)
    expected = torch.zeros(8)
    for mean in seen:
        expected = 0.9 * expected + 0.1 * mean
    assert len(seen) == strategy.clock.train_iterations, "one pass for both"
    torch.testing.assert_close(norm.running_mean, expected)


def test_gems_looks_at_the_memory_leave_the_statistics_alone(
    scenario: DomainScenario,
    make_resnet: Callable[[], EncoderPredictor],
    naive: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gem = GEMPlugin(20)
    model = make_resnet()
    strategy = naive(model, [ImageLoaderPlugin(0), gem])
    strategy.train(scenario.train_stream[0])
    norm = model.encoder[2]
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    model.train()
    parameters = list(model.parameters())
    from udil_avalanche.plugins.baselines import memory_gradient as module

    positions = torch.arange(20)
    whole = module.memory_gradient(strategy, gem.memory, positions, parameters)
    assert all(torch.equal(before[k], v) for k, v in norm.state_dict().items())

    monkeypatch.setattr(module, "VALUES_AT_ONCE", 5 * 3 * 16 * 16)
    model.eval()
    chunks = module.memory_gradient(strategy, gem.memory, positions, parameters)
    monkeypatch.undo()
    at_once = module.memory_gradient(strategy, gem.memory, positions, parameters)
    torch.testing.assert_close(chunks, at_once)
    assert not torch.allclose(module.flat(whole), module.flat(at_once))

"""One contract for every plugin: it works alone inside strategies of Avalanche."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from avalanche.benchmarks import benchmark_from_datasets
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.training.supervised import EWC, LwF, Naive, Replay
from torch import nn

from udil_avalanche import plugins
from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    AnnealingPlugin,
    AveragedWeightsPlugin,
    BalancedReplayPlugin,
    DeadTrainingPlugin,
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    FiniteLossPlugin,
    GradientClippingPlugin,
    HistoryModelPlugin,
    ImageLoaderPlugin,
    RandomFlipPlugin,
    SupConPlugin,
    TensorLoaderPlugin,
)
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.resolve import run_settings_class
from udil_avalanche.runs.state.strategy_state import load_strategy_state, strategy_state
from udil_avalanche.runs.state.tree import join, split

STRATEGIES: dict[str, Callable[..., Any]] = {
    "Naive": Naive,
    "Replay": lambda **kwargs: Replay(mem_size=20, **kwargs),
    "EWC": lambda **kwargs: EWC(ewc_lambda=1.0, **kwargs),
    "LwF": lambda **kwargs: LwF(alpha=1.0, temperature=2.0, **kwargs),
}


def balanced_replay() -> dict[str, Any]:
    return {"plugins": [BalancedReplayPlugin(mem_size=30, batch_size_mem=8)]}


def history_model() -> dict[str, Any]:
    return {"plugins": [HistoryModelPlugin()]}


def discriminator() -> dict[str, Any]:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    return {"plugins": [replay, DiscriminatorPlugin(replay, hidden=16)]}


def embedding_distillation() -> dict[str, Any]:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    history = HistoryModelPlugin(replay)
    distillation = EmbeddingDistillationPlugin(replay, history, lambda_p=0.1)
    return {"plugins": [replay, history, distillation]}


def supcon() -> dict[str, Any]:
    return {"plugins": [SupConPlugin(lambda_s=0.1)]}


def coefficients() -> dict[str, Any]:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    history = HistoryModelPlugin(replay)
    criterion = AdaptiveCoefficientsPlugin(replay, history)
    return {"plugins": [replay, history], "criterion": criterion}


def gradient_clipping() -> dict[str, Any]:
    return {"plugins": [GradientClippingPlugin(max_norm=0.1)]}


def annealing() -> dict[str, Any]:
    return {"plugins": [AnnealingPlugin(share=0.5)]}


def averaged_weights() -> dict[str, Any]:
    return {"plugins": [AveragedWeightsPlugin(decay=0.9)]}


def tensor_loader() -> dict[str, Any]:
    return {"plugins": [TensorLoaderPlugin()]}


def image_loader() -> dict[str, Any]:
    return {"plugins": [ImageLoaderPlugin(workers=0)]}


def random_flip() -> dict[str, Any]:
    return {"plugins": [RandomFlipPlugin()]}


def dead_training() -> dict[str, Any]:
    return {"plugins": [DeadTrainingPlugin()]}


def finite_loss() -> dict[str, Any]:
    return {"plugins": [FiniteLossPlugin()]}


class Parts:
    """Takes the place of what methods are built from, and keeps their own plugins."""

    def naive(self, *own: Any, **arguments: Any) -> dict[str, Any]:
        return {"plugins": list(own), **arguments}


def method(name: str) -> Callable[[], dict[str, Any]]:
    """The plugins of a method, as its recipe makes them."""

    def make() -> dict[str, Any]:
        schema = run_settings_class(name, "hd_balls")
        small = {"memory": 30} if METHODS[name].has_memory else {}
        if "memory_batch" in schema.model_fields:
            small["memory_batch"] = 8
        return METHODS[name].build(schema(**small), Parts())  # type: ignore[arg-type]

    make.__name__ = name
    return make


PLUGINS = [
    *(
        method(name)
        for name in METHODS
        if name not in ("UDIL", "Joint", "Fine-tune")
        and METHODS[name].build_head is None
    ),
    balanced_replay,
    history_model,
    discriminator,
    embedding_distillation,
    supcon,
    coefficients,
    gradient_clipping,
    annealing,
    averaged_weights,
    tensor_loader,
    image_loader,
    random_flip,
    dead_training,
    finite_loss,
]


def test_the_contract_covers_every_plugin() -> None:
    exported = {name for name in plugins.__all__ if name.endswith("Plugin")}
    made = [make() for make in PLUGINS]
    parts = [
        part for each in made for part in (*each["plugins"], each.get("criterion"))
    ]
    assert {type(part).__name__ for part in parts if part is not None} >= exported


def train(
    strategy_name: str,
    parts: dict[str, Any],
    scenario: Any,
    model: nn.Module,
    evaluator: Any,
) -> Any:
    torch.manual_seed(1)
    strategy = STRATEGIES[strategy_name](
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        train_mb_size=16,
        train_epochs=2,
        eval_mb_size=32,
        evaluator=evaluator,
        **({"criterion": nn.CrossEntropyLoss()} | parts),
    )
    for experience in scenario.train_stream:
        strategy.train(experience)
        strategy.eval(scenario.test_stream)
    return strategy


def flat_weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("strategy_name", STRATEGIES)
@pytest.mark.parametrize("make_parts", PLUGINS)
def test_plugin_alone_in_a_strategy_of_avalanche(
    make_parts: Callable[[], dict[str, Any]],
    strategy_name: str,
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    parts = make_parts()
    strategy = train(strategy_name, parts, make_scenario(), make_model(), silent())

    weights = flat_weights(strategy.model)
    assert weights.isfinite().all()
    assert not any(m._forward_hooks for m in strategy.model.modules())
    for plugin in parts["plugins"]:
        assert plugin in strategy.plugins
    optimized = sum(len(g["params"]) for g in strategy.optimizer.param_groups)
    assert optimized == len(list(strategy.model.parameters())), "only h is optimized"

    plain = train(strategy_name, {}, make_scenario(), make_model(), silent())
    silent_ones = (
        history_model,
        averaged_weights,
        tensor_loader,
        image_loader,
        dead_training,
        finite_loss,
    )
    changes_training = make_parts not in silent_ones
    if changes_training:
        assert not torch.equal(weights, flat_weights(plain.model))


@pytest.mark.parametrize("make_parts", PLUGINS)
def test_state_of_a_plugin_goes_into_another(
    make_parts: Callable[[], dict[str, Any]],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    trained = train("Naive", make_parts(), make_scenario(), make_model(), silent())
    plain, tensors = split(strategy_state(trained))
    stored = {name: tensor.clone() for name, tensor in tensors.items()}

    one_domain = make_scenario(domains=1)
    other = train("Naive", make_parts(), one_domain, make_model(), silent())
    load_strategy_state(other, join(json.loads(json.dumps(plain)), stored))
    again_plain, again_tensors = split(strategy_state(other))
    assert again_plain == plain
    assert again_tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(again_tensors[name], tensor), name


@pytest.mark.parametrize("make_parts", PLUGINS)
def test_state_of_a_plugin_keeps_its_order_in_memory(
    make_parts: Callable[[], dict[str, Any]],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    """Sums may round differently if the numbers are in another order."""

    def check(tree: Any, path: str) -> None:
        if isinstance(tree, torch.Tensor):
            assert tree.is_contiguous(), path
        elif isinstance(tree, dict):
            for key, value in tree.items():
                check(value, f"{path}/{key}")
        elif isinstance(tree, list | tuple):
            for i, value in enumerate(tree):
                check(value, f"{path}/{i}")

    trained = train("Naive", make_parts(), make_scenario(), make_model(), silent())
    check(strategy_state(trained), "")


class NumberedSamples(torch.utils.data.Dataset[Any]):
    """Samples of x and y that say nothing about their classes."""

    def __init__(self, domain: Any) -> None:
        self.samples = [(x, int(y)) for x, y, _ in domain]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


@pytest.mark.parametrize("make_parts", PLUGINS)
def test_datasets_without_targets(
    make_parts: Callable[[], dict[str, Any]],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    scenario = make_scenario(size=32)
    bare: Any = {
        name: [
            AvalancheDataset([NumberedSamples(experience.dataset)])
            for experience in stream
        ]
        for name, stream in scenario.streams.items()
    }
    strategy = train(
        "Naive", make_parts(), benchmark_from_datasets(**bare), make_model(), silent()
    )
    assert flat_weights(strategy.model).isfinite().all()


@pytest.fixture
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("make_parts", PLUGINS)
def test_double_precision_by_default(
    make_parts: Callable[[], dict[str, Any]],
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    scenario = make_scenario(size=32)
    strategy = train("Naive", make_parts(), scenario, make_model(), silent())
    weights = flat_weights(strategy.model)
    assert weights.dtype == torch.float64 and weights.isfinite().all()


def test_history_model_alone_changes_nothing(
    make_scenario: Callable[..., Any],
    make_model: Callable[[], Any],
    silent: Callable[..., Any],
) -> None:
    scenario = make_scenario()
    with_it = train("Naive", history_model(), scenario, make_model(), silent())
    plain = train("Naive", {}, scenario, make_model(), silent())
    assert torch.equal(flat_weights(with_it.model), flat_weights(plain.model))

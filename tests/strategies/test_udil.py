"""UDIL as a whole."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from avalanche.benchmarks import benchmark_from_datasets
from avalanche.benchmarks.classic import PermutedMNIST
from avalanche.benchmarks.utils import AvalancheDataset
from avalanche.training.plugins import SupervisedPlugin
from torch.utils.data import TensorDataset

from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.models.mlp import mlp
from udil_avalanche.plugins import (
    DiscriminatorPlugin,
    EmbeddingDistillationPlugin,
    SupConPlugin,
)
from udil_avalanche.strategies import UDIL
from udil_avalanche.strategies.udil import PAPER
from udil_avalanche.theory.unification import PRESETS


@pytest.fixture(params=["defaults", "paper"])
def make_udil(
    request: Any, make_model: Callable[[], Any], silent: Callable[..., Any]
) -> Callable[..., UDIL]:
    formulas = PAPER if request.param == "paper" else {}

    def make(*metrics: Any, **kwargs: Any) -> UDIL:
        model = kwargs.pop("model", None) or make_model()
        settings = formulas | {
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.05),
            "mem_size": 30,
            "batch_size_mem": 12,
            "lambda_d": 0.1,
            "lambda_p": 0.01,
            "lambda_s": 0.01,
            "hidden_discriminator": 16,
            "train_mb_size": 16,
            "train_epochs": 2,
            "objective_t_power": 1.0,
            "evaluator": silent(*metrics),
        }
        return UDIL(model=model, **(settings | kwargs))

    return make


def weights(strategy: UDIL) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in strategy.model.parameters()])


def test_udil_forgets_less_than_plain_training(
    make_udil: Any, make_scenario: Any
) -> None:
    scenario, finals = make_scenario(domains=5, size=200), {}
    for name, mem_size in (("UDIL", 50), ("plain", 0)):
        metrics = DomainMetrics()
        strategy = make_udil(metrics, mem_size=mem_size, train_epochs=5)
        for experience in scenario.train_stream:
            strategy.train(experience)
            strategy.eval(scenario.test_stream)
        finals[name] = metrics.result()
    assert finals["UDIL"]["avg_acc"] > finals["plain"]["avg_acc"] + 5
    assert finals["UDIL"]["forgetting"] < finals["plain"]["forgetting"] - 5


@pytest.mark.parametrize(
    ("weight", "plugin"),
    [
        ("lambda_d", DiscriminatorPlugin),
        ("lambda_p", EmbeddingDistillationPlugin),
        ("lambda_s", SupConPlugin),
    ],
)
def test_a_weight_of_zero_leaves_the_part_out(
    make_udil: Any, make_scenario: Any, weight: str, plugin: type
) -> None:
    with_it, without = make_udil(), make_udil(**{weight: 0})
    assert any(isinstance(p, plugin) for p in with_it.plugins)
    assert not any(isinstance(p, plugin) for p in without.plugins)
    without.train(make_scenario().train_stream)
    assert weights(without).isfinite().all()


def test_the_same_seed_gives_the_same_weights(
    make_udil: Any, make_scenario: Any
) -> None:
    results = []
    for seed in (5, 5, 6):
        strategy = make_udil()
        torch.manual_seed(seed)
        strategy.train(make_scenario().train_stream)
        results.append(weights(strategy))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_domains_with_a_single_class(make_udil: Any, make_scenario: Any) -> None:
    strategy = make_udil()
    strategy.train(make_scenario(one_class=True).train_stream)
    assert weights(strategy).isfinite().all()


def test_a_last_batch_of_one_sample(make_udil: Any, make_scenario: Any) -> None:
    strategy = make_udil(train_mb_size=16)
    strategy.train(make_scenario(size=33).train_stream)
    assert strategy.clock.train_iterations == 3 * 2 * 3
    assert weights(strategy).isfinite().all()


def test_a_memory_batch_of_one_sample(make_udil: Any, make_scenario: Any) -> None:
    strategy = make_udil(batch_size_mem=1)
    strategy.train(make_scenario(domains=4).train_stream)
    assert weights(strategy).isfinite().all()


def test_a_memory_smaller_than_the_number_of_domains(
    make_udil: Any, make_scenario: Any
) -> None:
    with pytest.raises(ValueError, match="memory of 2 samples cannot hold 3 domains"):
        make_udil(mem_size=2).train(make_scenario(domains=3).train_stream)


@pytest.mark.parametrize("reset", [True, False])
def test_the_optimizers_state_between_domains(
    make_udil: Any, make_scenario: Any, make_model: Any, reset: bool
) -> None:
    model = make_model()
    steps: list[float] = []

    class Count(SupervisedPlugin):
        def after_update(self, strategy: Any, **kwargs: Any) -> None:
            state = strategy.optimizer.state[next(strategy.model.parameters())]
            steps.append(float(state["step"]))

    strategy = make_udil(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        reset_optimizer=reset,
        plugins=[Count()],
        train_epochs=1,
    )
    strategy.train(make_scenario().train_stream[:2])
    assert steps == ([1, 2, 3, 4] * 2 if reset else list(range(1, 9)))


def test_a_preset_holds_the_coefficients(make_udil: Any, make_scenario: Any) -> None:
    strategy = make_udil(preset=PRESETS["DER++"])
    strategy.train(make_scenario().train_stream)
    for omega in strategy.coefficients.trajectory:
        torch.testing.assert_close(
            omega, torch.tensor([[0.5, 0, 0.5]]).expand_as(omega)
        )


def test_evaluation_never_sees_a_domain_id(make_udil: Any, make_scenario: Any) -> None:
    """Neither the model's inputs nor the experiences tell where a test sample is from:
    shuffled together and relabelled, the samples get the same predictions."""
    scenario = make_scenario(domains=4)
    outputs: list[tuple[torch.Tensor, torch.Tensor]] = []

    class Keep(SupervisedPlugin):
        def after_eval_forward(self, strategy: Any, **kwargs: Any) -> None:
            assert strategy.mbatch[2].unique().tolist() == [0]
            outputs.append((strategy.mb_x, strategy.mb_output.argmax(dim=1)))

    strategy = make_udil(plugins=[Keep()])
    strategy.train(scenario.train_stream)
    strategy.eval(scenario.test_stream)
    x, predicted = (torch.cat(parts) for parts in zip(*outputs, strict=True))

    outputs.clear()
    order = torch.randperm(len(x))
    strategy.eval(as_one_experience(x[order], torch.zeros(len(x), dtype=torch.int64)))
    _, shuffled = (torch.cat(parts) for parts in zip(*outputs, strict=True))
    assert torch.equal(shuffled, predicted[order])


def as_one_experience(x: torch.Tensor, y: torch.Tensor) -> Any:
    from avalanche.benchmarks import with_task_labels
    from avalanche.benchmarks.utils.classification_dataset import (
        _make_taskaware_tensor_classification_dataset as make_dataset,
    )

    dataset = make_dataset(x, y, task_labels=0)
    return with_task_labels(benchmark_from_datasets(test=[dataset])).test_stream


def test_benchmarks_without_task_labels(make_udil: Any) -> None:
    """The plainest benchmark that Avalanche can make: pairs (x, y), no task labels."""
    from avalanche.benchmarks.utils import DataAttribute

    datasets = []
    for _ in range(3):
        x, y = torch.randn(40, 6), torch.randint(3, (40,))
        attribute = DataAttribute(y.tolist(), "targets")
        datasets.append(
            AvalancheDataset(TensorDataset(x, y), data_attributes=[attribute])
        )
    scenario = benchmark_from_datasets(train=datasets, test=datasets)
    strategy = make_udil()
    for experience in scenario.train_stream:
        strategy.train(experience)
        strategy.eval(scenario.test_stream)
    assert weights(strategy).isfinite().all()
    assert len(strategy.replay.memory) == 30


def test_avalanches_own_permuted_mnist(
    make_udil: Any, mnist_root: Any, silent: Any
) -> None:
    benchmark = PermutedMNIST(2, seed=0, dataset_root=mnist_root)
    metrics = DomainMetrics()
    model = mlp(hidden=32)
    strategy = make_udil(
        metrics,
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        eval_mb_size=500,
        train_epochs=1,
    )
    # The images are in order of class.
    for experience in benchmark.train_stream:
        experience._dataset = experience.dataset.subset(range(0, 60_000, 60))
        strategy.train(experience)
    for experience in benchmark.test_stream:
        experience._dataset = experience.dataset.subset(range(0, 10_000, 20))
    strategy.eval(benchmark.test_stream)
    assert np.nanmin(metrics.matrix[1]) > 30, "far better than one in ten"


def test_models_in_double_precision(make_udil: Any, make_model: Any) -> None:
    from udil_avalanche.data.domain_tensors import domain_of
    from udil_avalanche.data.scenario import DomainScenario

    domains = [
        domain_of(torch.randn(40, 6, dtype=torch.float64), torch.randint(3, (40,)))
        for _ in range(3)
    ]
    scenario = DomainScenario(train=domains, test=domains, n_classes=3, data="noise")
    strategy = make_udil(model=make_model().double())
    strategy.train(scenario.train_stream)
    assert weights(strategy).dtype == torch.float64
    assert weights(strategy).isfinite().all()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_without_beta_needs_no_discriminator(
    make_udil: Any, name: str
) -> None:
    strategy = make_udil(preset=PRESETS[name])
    assert (strategy.discriminator is not None) is (name in ("LwF", "BiC"))


def test_negative_weights_are_refused(make_udil: Any) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        make_udil(lambda_d=-1)


def test_udil_without_targets_and_in_double_precision(
    make_udil: Callable[..., UDIL],
) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        strategy = make_udil()
        bare = [
            AvalancheDataset(
                [TensorDataset(torch.randn(32, 6), torch.randint(3, (32,)))]
            )
            for _ in range(3)
        ]
        strategy.train(benchmark_from_datasets(train=bare).train_stream)
    finally:
        torch.set_default_dtype(torch.float32)
    assert strategy.replay.memory.counts.tolist() == [10, 10, 10]
    assert weights(strategy).dtype == torch.float64
    assert weights(strategy).isfinite().all()

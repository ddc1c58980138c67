"""Avalanche's own models that grow, or have a head for each task, in every method."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from avalanche.benchmarks import (
    benchmark_from_datasets,
    with_classes_timeline,
    with_task_labels,
)
from avalanche.benchmarks.utils import _make_taskaware_tensor_classification_dataset
from avalanche.models import IncrementalClassifier, MTSimpleMLP
from torch import nn

from udil_avalanche import UDIL
from udil_avalanche.models.growing import aligned, widened
from udil_avalanche.models.mlp import EncoderPredictor
from udil_avalanche.plugins import (
    AdaptiveCoefficientsPlugin,
    AGEMPlugin,
    AveragedWeightsPlugin,
    BalancedReplayPlugin,
    CLSERPlugin,
    DERPlugin,
    ESMERPlugin,
    GEMPlugin,
    HistoryModelPlugin,
    LwFPlugin,
    OnlineEWCPlugin,
    SynapticIntelligencePlugin,
)
from udil_avalanche.strategies.udil import PAPER

CLASSES = ([0, 1], [1, 2], [3, 4, 5])
"""The classes of each experience: the second and the third have new ones."""


def benchmark(several_tasks: bool) -> Any:
    """Three experiences of Gaussians, with a task label for each or one for all."""
    generator = torch.Generator().manual_seed(3)
    centres = 3 * torch.randn(6, 6, generator=generator)
    streams: dict[str, list[Any]] = {"train": [], "test": []}
    for t, classes in enumerate(CLASSES):
        for stream in streams.values():
            chosen = torch.randint(len(classes), (48,), generator=generator)
            y = torch.tensor(classes)[chosen]
            x = centres[y] + torch.randn(48, 6, generator=generator)
            task = t if several_tasks else 0
            stream.append(
                _make_taskaware_tensor_classification_dataset(x, y, task_labels=task)
            )
    made = with_classes_timeline(with_task_labels(benchmark_from_datasets(**streams)))
    for experience in (*made.train_stream, *made.test_stream):
        # MTSimpleMLP needs a list.
        experience.classes_in_this_experience = sorted(
            experience.classes_in_this_experience
        )
    return made


def growing_model() -> nn.Module:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
    return EncoderPredictor(encoder, IncrementalClassifier(16))


def many_headed_model() -> nn.Module:
    torch.manual_seed(0)
    return MTSimpleMLP(input_size=6, hidden_size=16)


def lwf() -> dict[str, Any]:
    history = HistoryModelPlugin()
    return {"plugins": [history, LwFPlugin(history)]}


def cls_er() -> dict[str, Any]:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    return {"plugins": [replay, CLSERPlugin(replay)]}


def esm_er() -> dict[str, Any]:
    replay = BalancedReplayPlugin(mem_size=30, batch_size_mem=8)
    criterion = ESMERPlugin(replay)
    return {"plugins": [replay, criterion], "criterion": criterion}


METHODS: dict[str, Callable[[], dict[str, Any]]] = {
    "oEWC": lambda: {"plugins": [OnlineEWCPlugin(ewc_lambda=0.1)]},
    "SI": lambda: {"plugins": [SynapticIntelligencePlugin(c=0.1)]},
    "LwF": lwf,
    "ER": lambda: {"plugins": [BalancedReplayPlugin(mem_size=30)]},
    "reservoir": lambda: {"plugins": [BalancedReplayPlugin(30, reservoir=True)]},
    "GEM": lambda: {"plugins": [GEMPlugin(mem_size=30)]},
    "A-GEM": lambda: {"plugins": [AGEMPlugin(mem_size=30)]},
    "DER++": lambda: {"plugins": [DERPlugin(mem_size=30)]},
    "DER++, reservoir": lambda: {"plugins": [DERPlugin(mem_size=30, reservoir=True)]},
    "CLS-ER": cls_er,
    "ESM-ER": esm_er,
    "average": lambda: {"plugins": [AveragedWeightsPlugin(decay=0.9)]},
}


def learned(strategy: Any, scenario: Any) -> Any:
    for experience in scenario.train_stream:
        strategy.train(experience)
        strategy.eval(scenario.test_stream)
    for parameter in strategy.model.parameters():
        assert parameter.isfinite().all()
    return strategy


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("several_heads", [False, True])
def test_methods_learn_with_models_that_grow_or_have_several_heads(
    name: str, several_heads: bool, naive: Any
) -> None:
    model = many_headed_model() if several_heads else growing_model()
    strategy = naive(model, **METHODS[name](), train_epochs=2)
    learned(strategy, benchmark(several_heads))


@pytest.mark.parametrize("several_heads", [False, True])
@pytest.mark.parametrize("name", ["oEWC", "SI", "LwF"])
def test_a_method_still_holds_on_to_the_past(
    name: str, several_heads: bool, naive: Any
) -> None:
    """From the second experience on it adds to the loss or the gradient."""
    parts = METHODS[name]()
    method = parts["plugins"][-1]
    model = many_headed_model() if several_heads else growing_model()
    strategy = naive(model, **parts)
    amounts = []
    for experience in benchmark(several_heads).train_stream:
        method.terms = {}
        watched: list[float] = []
        after = method.after_training_iteration
        method.after_training_iteration = lambda strategy, seen=watched, **kwargs: (
            seen.extend(map(float, method.terms.values()))
        )
        strategy.train(experience)
        method.after_training_iteration = after
        amounts.append(sum(watched))
    assert amounts[0] == 0
    assert amounts[1] > 0 and amounts[2] > 0


@pytest.mark.parametrize("paper", [False, True])
def test_udil_learns_with_a_model_that_grows(paper: bool, silent: Any) -> None:
    model = growing_model()
    settings = PAPER if paper else {"lambda_d": 0.1, "lambda_s": 0.01}
    strategy = UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        mem_size=30,
        batch_size_mem=8,
        train_mb_size=16,
        evaluator=silent(),
        plugins=[AveragedWeightsPlugin(decay=0.9)],
        **settings,
    )
    learned(strategy, benchmark(several_tasks=False))
    assert strategy.replay.memory.n_domains == 3
    assert all(omega.isfinite().all() for omega in strategy.coefficients.trajectory)


@pytest.mark.parametrize("grows", [True, False])
def test_a_history_model_that_lacks_classes_is_asked_at_the_lowest_temperature(
    grows: bool, silent: Any
) -> None:
    """Asked at a higher one, it would press the new classes down."""
    torch.manual_seed(0)
    whole = EncoderPredictor(
        nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 6)
    )
    model = growing_model() if grows else whole
    strategy = UDIL(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        mem_size=30,
        train_mb_size=16,
        train_epochs=40,
        evaluator=silent(),
    )
    temperatures = []
    for experience in benchmark(several_tasks=False).train_stream:
        strategy.train(experience)
        temperatures.append(strategy.coefficients.temperature)
    assert temperatures[0] == 2
    assert [T > 2 for T in temperatures[1:]] == [not grows, not grows]


@pytest.mark.parametrize("strategy_name", ["UDIL", "plugin"])
def test_udil_refuses_several_heads_before_the_first_step(
    strategy_name: str, naive: Any, silent: Any
) -> None:
    model = many_headed_model()
    if strategy_name == "UDIL":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        strategy: Any = UDIL(
            model=model, optimizer=optimizer, encoder="features", evaluator=silent()
        )
    else:
        replay = BalancedReplayPlugin(mem_size=30)
        history = HistoryModelPlugin(replay, encoder="features")
        criterion = AdaptiveCoefficientsPlugin(replay, history)
        strategy = naive(model, [replay, history, criterion], criterion=criterion)
    with pytest.raises(ValueError, match="needs one classifier for all domains"):
        strategy.train(benchmark(several_tasks=True).train_stream[0])
    assert strategy.clock.train_iterations == 0


def test_ewc_pulls_old_weights_alone(naive: Any) -> None:
    """A weight that came later has no value to be pulled to."""
    ewc = OnlineEWCPlugin(ewc_lambda=1.0)
    strategy = naive(growing_model(), [ewc])
    stream = benchmark(several_tasks=False).train_stream
    strategy.train(stream[0])
    name = "predictor.classifier.weight"
    assert ewc.fisher[name].shape == (2, 16)
    strategy.train(stream[2])
    fisher = ewc.fisher[name]
    assert fisher.shape == (6, 16)
    assert fisher[2].abs().max() == 0, "class 2 was not there yet"
    assert (fisher[3:] > 0).any()


def test_der_compares_the_classes_that_the_stored_logits_have(naive: Any) -> None:
    der = DERPlugin(mem_size=30)
    strategy = naive(growing_model(), [der])
    strategy.train(benchmark(several_tasks=False).train_stream)
    stored = der.memory.fields[-1]
    widths = [
        int((~stored[der.memory.domains == t][0].isnan()).sum()) for t in range(3)
    ]
    assert widths == [2, 3, 6]


def test_averages_meet_new_classes_with_the_model(naive: Any) -> None:
    """An average that still masks a class would be a target of -1000 for it."""
    parts, largest = cls_er(), []
    cls_er_plugin = parts["plugins"][-1]
    strategy = naive(growing_model(), **parts)
    scenario = benchmark(several_tasks=False)
    for experience in scenario.train_stream:
        strategy.train(experience)
        largest.append(float(cls_er_plugin.terms.get("consistency", 0)))
        strategy.eval(scenario.test_stream)
    assert max(largest) < 100


def test_values_of_a_parameter_that_has_grown() -> None:
    values, like = torch.ones(2, 3), torch.zeros(4, 3)
    assert aligned(values, values) is values
    assert aligned(values, like).sum(dim=1).tolist() == [3, 3, 0, 0]
    assert aligned(torch.ones(5), torch.zeros(2)).tolist() == [1, 1]


def test_outputs_for_classes_that_were_unknown_have_no_probability() -> None:
    wide = widened(torch.tensor([[1.0, 2.0]]), 4)
    assert wide.softmax(dim=1)[0, 2:].tolist() == [0, 0]
    assert widened(wide, 3) is wide

import io

import torch
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from rich.console import Console

from udil_avalanche.benchmarks import hd_balls
from udil_avalanche.models.mlp import mlp
from udil_avalanche.runs.progress import ProgressPlugin


def shown_during_training(*, terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=100)
    progress = ProgressPlugin(2, console)
    model = mlp(input_size=5, n_classes=2, hidden=8)
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        train_mb_size=10,
        train_epochs=2,
        plugins=[progress],
        evaluator=EvaluationPlugin(loggers=[]),
    )
    benchmark = hd_balls(domains=2, train_per_domain=25, dimensions=5)
    with progress.bar:
        for experience in benchmark.train_stream:
            strategy.train(experience)
            progress.end_domain(accuracy=87.54, seconds=120)
    return output.getvalue()


def test_a_terminal_shows_domain_steps_accuracy_and_time_left() -> None:
    shown = shown_during_training(terminal=True)
    assert "domain 2/2" in shown
    assert "/6" in shown, "25 samples in batches of 10, twice"
    assert "accuracy 87.5 %" in shown
    assert "0:00:00 left" in shown.replace("\x1b[0m", "").replace("\x1b[36m", "")


def test_a_log_gets_a_line_for_each_domain() -> None:
    assert shown_during_training(terminal=False).splitlines() == [
        "domain 1/2: accuracy 87.5 %, 2 min, about 2 min left",
        "domain 2/2: accuracy 87.5 %, 2 min",
    ]

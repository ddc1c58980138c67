"""Time besides training: evaluation, metrics and loggers."""

import tempfile
import time
from statistics import median
from typing import Any
from unittest.mock import patch

from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.templates import BaseSGDTemplate

from bench.laps import by_turns, median_ratio, seconds
from bench.limit import MODEL, MatmulRate, network_flops
from bench.scale import Scale
from bench.workload import measured_settings, silent_evaluator
from udil_avalanche.benchmarks import rotated_mnist
from udil_avalanche.evaluation.domain_metrics import DomainMetrics
from udil_avalanche.models.mlp import mlp
from udil_avalanche.recipes.build import build_strategy
from udil_avalanche.runs.experiment import run


def evaluation(scale: Scale) -> dict[str, float]:
    """Seconds to evaluate a model on one test domain, and their limit.

    :param scale: how much to measure.
    """
    settings = measured_settings("Fine-tune", {})
    benchmark = rotated_mnist(
        scale.root, domains=scale.test_domains, train_per_domain=1
    )
    strategy = build_strategy(
        settings, mlp(), evaluator=silent_evaluator(DomainMetrics())
    )
    # The first evaluation generates the test domains.
    strategy.eval(benchmark.test_stream)
    images = sum(len(each.dataset) for each in benchmark.test_stream)
    rate = MatmulRate(settings.eval_batch_size)
    cases = {
        "ours": lambda: seconds(lambda: strategy.eval(benchmark.test_stream)),
        "limit": lambda: (
            network_flops(MODEL, images) / median(rate() for _ in range(5))
        ),
    }
    times = by_turns(cases, scale.repeats)
    return {
        "s a domain": median(times["ours"]) / scale.test_domains,
        "limit s a domain": median(times["limit"]) / scale.test_domains,
        "to limit": median_ratio(times["ours"], times["limit"]),
        "images": images / scale.test_domains,
    }


class _Stopwatch:
    """Adds up the time that a method takes, including everything it calls.

    :param owner: the class that has the method.
    :param name: of the method.
    """

    def __init__(self, owner: type, name: str) -> None:
        self.seconds = 0.0
        method = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - begin

        self.patch = patch.object(owner, name, timed)


def shares(strategy: str, scale: Scale) -> dict[str, float]:
    """The shares of evaluation, of metrics and loggers, and of saving, in a whole run
    on rotated MNIST.

    :param strategy: its name.
    :param scale: how much to measure.
    """
    in_evaluation = _Stopwatch(BaseSGDTemplate, "eval")
    in_metrics = _Stopwatch(EvaluationPlugin, "_update_metrics_and_loggers")
    with tempfile.TemporaryDirectory() as output:
        settings = measured_settings(
            strategy,
            {
                "data": str(scale.root),
                "output": output,
                "domains": scale.test_domains,
                "train_per_domain": scale.images,
            },
        )
        with in_evaluation.patch, in_metrics.patch:
            result = run(settings)
    return {
        "metrics and loggers": in_metrics.seconds / result["seconds"],
        "evaluation": in_evaluation.seconds / result["seconds"],
        "saving": result["seconds_saving"] / result["seconds"],
    }


__all__ = ["evaluation", "shares"]

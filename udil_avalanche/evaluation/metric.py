"""The base class of our metrics."""

from collections.abc import Mapping
from typing import Any

from avalanche.evaluation import PluginMetric
from avalanche.evaluation.metric_results import MetricResult, MetricValue
from avalanche.evaluation.metric_utils import get_metric_name

from udil_avalanche.plugins.shared.plugin import Strategy


class Metric(PluginMetric):  # type: ignore[misc]
    """A metric with several values at a time, which are logged as
    ``<metric>/<name>`` at the number of training iterations."""

    def emit(self, strategy: Strategy, values: Mapping[str, Any]) -> MetricResult:
        """Values for the loggers.

        :param strategy: the strategy.
        :param values: the values by name.
        """
        step = strategy.clock.train_iterations
        emitted = []
        for name, value in values.items():
            full_name = get_metric_name(f"{self}/{name}", strategy, add_task=False)
            emitted.append(MetricValue(self, full_name, value, step))
        return emitted

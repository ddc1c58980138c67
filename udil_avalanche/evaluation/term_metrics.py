"""Logging of the loss terms and other scalars that plugins expose."""

from collections import Counter
from typing import Any

import torch
from avalanche.core import BasePlugin
from avalanche.evaluation.metric_results import MetricResult
from torch import Tensor

from udil_avalanche.evaluation.metric import Metric
from udil_avalanche.plugins.shared.plugin import Strategy


class TermMetrics(Metric):
    """Means of the ``terms`` of all plugins, as ``Terms/<name>``.

    Any plugin of the strategy may have an attribute ``terms``, a dictionary of
    0-dim tensors of its latest training iteration. They are added up on their
    device after each iteration and transferred only when a mean is emitted, all
    together. A term that is missing in some iterations is averaged over the others.

    :func:`~udil_avalanche.term_metrics` makes it for an ``EvaluationPlugin``.

    :param every: emit after this many iterations and at the end of the epoch; each
        mean is over the iterations since the last one. None: only at the end of the
        epoch, over all of it.
    """

    def __init__(self, every: int | None = None) -> None:
        super().__init__()
        if every is not None and every < 1:
            raise ValueError(f"every counts iterations, at least 1; got {every}.")
        self.every = every
        self.reset()

    def reset(self) -> None:
        """Forget what was added up since the last emission."""
        self._sums: dict[str, Tensor] = {}
        self._counts: Counter[str] = Counter()
        self._iterations = 0

    def result(self) -> dict[str, float]:
        """Mean of each term since the last emission."""
        if not self._sums:
            return {}
        means = [total / self._counts[name] for name, total in self._sums.items()]
        return dict(zip(self._sums, torch.stack(means).tolist(), strict=True))

    def state_dict(self) -> dict[str, Any]:
        """What was added up since the last emission."""
        return {
            "sums": self._sums,
            "counts": dict(self._counts),
            "iterations": self._iterations,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary of the earlier run.
        """
        self._sums = dict(state["sums"])
        self._counts = Counter(state["counts"])
        self._iterations = state["iterations"]

    def before_training_epoch(self, strategy: Strategy) -> None:
        self.reset()

    def after_training_iteration(self, strategy: Strategy) -> MetricResult:
        for name, value in _collect_terms(strategy.plugins).items():
            self._sums[name] = self._sums.get(name, 0) + value
            self._counts[name] += 1
        self._iterations += 1
        return self._emit_means(strategy) if self._iterations == self.every else None

    def after_training_epoch(self, strategy: Strategy) -> MetricResult:
        return self._emit_means(strategy)

    def _emit_means(self, strategy: Strategy) -> MetricResult:
        values = self.emit(strategy, self.result())
        self.reset()
        return values

    def __str__(self) -> str:
        return "Terms"


def term_metrics(every: int | None = None) -> TermMetrics:
    """The metric that logs the ``terms`` of all plugins.

    :param every: see :class:`TermMetrics`.
    :return: a plugin metric.
    """
    return TermMetrics(every)


def _collect_terms(plugins: list[BasePlugin]) -> dict[str, Tensor]:
    collected: dict[str, Tensor] = {}
    for plugin in plugins:
        terms = getattr(plugin, "terms", None)
        if not isinstance(terms, dict):
            continue
        for name, value in terms.items():
            if value.numel() != 1:
                raise ValueError(
                    f"Term '{name}' of {type(plugin).__name__} has shape "
                    f"{tuple(value.shape)}; a term is a single number."
                )
            if name in collected:
                raise ValueError(
                    f"Two plugins have a term '{name}', one of them "
                    f"{type(plugin).__name__}; give one of the terms another name."
                )
            # Avalanche's own loss has shape (1,).
            collected[name] = value.detach().reshape(())
    return collected

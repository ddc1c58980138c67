"""The accuracy matrix and the paper's metrics as an Avalanche metric."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from avalanche.benchmarks import CLExperience
from avalanche.evaluation.metric_results import AlternativeValues, MetricResult
from avalanche.evaluation.metric_utils import stream_type
from avalanche.training.supervised import JointTraining
from PIL.Image import Image
from torch import Tensor

from udil_avalanche.data.origin import origin_experience
from udil_avalanche.evaluation import formulas
from udil_avalanche.evaluation.heat_map import heat_map
from udil_avalanche.evaluation.metric import Metric
from udil_avalanche.plugins.shared.plugin import Strategy

MOST_PICTURES = 50
"""The accuracy matrix is drawn after each of the first domains, and then after every
so many."""


class DomainMetrics(Metric):
    """Builds the accuracy matrix of a run and emits the paper's metrics from it.

    Every ``strategy.eval(benchmark.test_stream)`` fills one row. The row is the
    number of *distinct* domains (``experience.current_experience``) whose training
    is finished: training on a domain again replaces that row, and several ``eval``
    calls on parts of the stream fill the same row. A part of an experience, from one
    of Avalanche's online streams, counts as that experience. An evaluation before any
    training is the row of the randomly initialised model, ``initial``. Evaluations
    during the training of an experience (``eval_every``) and on other streams are
    ignored.

    Emitted after an evaluation, in percent, at the number of training iterations:

    - ``Domain/avg_acc``: average accuracy over the domains trained so far,
    - ``Domain/avg_of_avg_acc``: average of that over the domains trained so far,
    - ``Domain/forgetting``: average forgetting, from the second domain on,
    - ``Domain/forward_transfer``: from the second domain on, if the model was
      evaluated before any training and on each domain before that was learned,
    - ``Domain/accuracy_matrix``: a picture for loggers that show pictures, the
      latest row for those that print.

    Domains are numbered in the order in which they were first trained on, which is
    usually their order in the stream.

    :func:`~udil_avalanche.domain_metrics` makes it for an ``EvaluationPlugin``.

    :param stream: name of the stream whose experiences are the test domains.
    """

    def __init__(self, stream: str = "test") -> None:
        super().__init__()
        self.stream = stream
        self.reset()

    def reset(self) -> None:
        """Forget the whole run."""
        self.trained_domains: list[int] = []
        self.rows_kept_elsewhere = 0
        """So many rows, the first ones, are left out of the state: whoever sets this
        keeps them, and restores them by :meth:`restore_row`."""
        self._accuracies = np.full((1, 1), np.nan)
        self._columns: dict[int, int] = {}
        self._in_training = False
        self._recorded = False
        self._hits: Tensor | int = 0
        self._samples = 0

    @property
    def domains(self) -> list[int]:
        """The experience behind each row and column of :attr:`matrix`.

        First the trained ones, in the order of training, then any others that were
        evaluated.
        """
        evaluated = set(self._columns)
        return self.trained_domains + sorted(evaluated - set(self.trained_domains))

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The accuracy matrix in percent, NaN where nothing was evaluated."""
        domains = self.domains
        found = np.full((len(domains), len(domains)), np.nan)
        known = self._accuracies[1 : len(domains) + 1]
        measured = [k for k, domain in enumerate(domains) if domain in self._columns]
        found[: len(known), measured] = known[
            :, [self._columns[domains[k]] for k in measured]
        ]
        return found

    def row(self, t: int) -> npt.NDArray[np.float64]:
        """A row of :attr:`matrix`, without making the others.

        :param t: number of the row, from 1.
        """
        return self._taken([t] * len(self.domains))

    @property
    def initial(self) -> npt.NDArray[np.float64]:
        """Percent on each domain before any training, NaN where not evaluated."""
        return self._taken([0] * len(self.domains))

    def result(self) -> dict[str, float | None]:
        """The metrics after the last domain, None where an accuracy is missing."""
        t = len(self.trained_domains)
        unknown: dict[str, float | None] = dict.fromkeys(
            ["avg_acc", "avg_of_avg_acc", "forgetting", "forward_transfer"]
        )
        if t == 0:
            return unknown
        if np.isnan(self.row(t)[: t - 1]).any():
            # In a long stream with few tests this saves the whole matrix.
            return unknown | {"forward_transfer": self._forward_transfer(t)}
        R = self.matrix
        values = {
            "avg_acc": formulas.average_accuracy(R, t),
            "avg_of_avg_acc": formulas.average_of_average_accuracy(R, 1, t),
            "forgetting": formulas.forgetting(R, t),
            "forward_transfer": formulas.forward_transfer(R, self.initial, t),
        }
        return {name: None if np.isnan(v) else v for name, v in values.items()}

    def _forward_transfer(self, t: int) -> float | None:
        """:func:`formulas.forward_transfer`, from the accuracies that it needs."""
        gains = self._taken(range(t)) - self._taken([0] * t)
        value = float(np.mean(gains[1:])) if t > 1 else np.nan
        return None if np.isnan(value) else value

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs, as lists and numbers."""
        return {
            "trained_domains": list(self.trained_domains),
            "in_training": self._in_training,
            "rows_kept_elsewhere": self.rows_kept_elsewhere,
            "accuracies": self._entries(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary of the earlier run.
        """
        kept = self._accuracies[: state.get("rows_kept_elsewhere", 0) + 1].copy()
        columns = dict(self._columns)
        self.reset()
        if state.get("rows_kept_elsewhere", 0):
            self._accuracies, self._columns = kept, columns
        self.rows_kept_elsewhere = state.get("rows_kept_elsewhere", 0)
        self.trained_domains = list(state["trained_domains"])
        self._in_training = state.get("in_training", False)
        for row, domain, accuracy in state["accuracies"]:
            self._set(row, domain, accuracy)

    def restore_row(self, t: int, accuracies: Sequence[float | None]) -> None:
        """Put back a row that was kept elsewhere.

        :param t: number of the row, from 1.
        :param accuracies: percent on the experiences 0, 1, ... of the stream; ``None``
            or NaN where nothing was evaluated.
        """
        for domain, accuracy in enumerate(accuracies):
            if accuracy is not None and not np.isnan(accuracy):
                self._set(t, domain, accuracy)

    def before_training_exp(self, strategy: Strategy) -> None:
        self._in_training = True

    def after_training_exp(self, strategy: Strategy) -> None:
        self._in_training = False
        for experience in _experiences_in_training(strategy):
            if experience.current_experience not in self.trained_domains:
                self.trained_domains.append(experience.current_experience)
        self._accuracies[len(self.trained_domains) : len(self.trained_domains) + 1] = (
            np.nan
        )

    def before_eval(self, strategy: Strategy) -> None:
        self._recorded = False

    def before_eval_exp(self, strategy: Strategy) -> None:
        self._hits = 0
        self._samples = 0

    def after_eval_iteration(self, strategy: Strategy) -> None:
        if self._belongs_to_a_row(strategy):
            hits = strategy.mb_output.argmax(dim=1) == strategy.mb_y
            # Stays on the model's device until the end of the experience.
            self._hits = self._hits + hits.sum()
            self._samples += len(hits)

    def after_eval_exp(self, strategy: Strategy) -> None:
        if self._belongs_to_a_row(strategy) and self._samples > 0:
            domain = strategy.experience.current_experience
            accuracy = 100.0 * int(self._hits) / self._samples
            self._set(len(self.trained_domains), domain, accuracy)
            self._recorded = True

    def after_eval(self, strategy: Strategy) -> MetricResult:
        t = len(self.trained_domains)
        if not self._recorded or t == 0:
            return None
        values = {name: v for name, v in self.result().items() if v is not None}
        # A picture after each of a thousand domains would be a gigabyte of events.
        picture = {}
        if t <= MOST_PICTURES or t % MOST_PICTURES == 0:
            picture["accuracy_matrix"] = _AccuracyMatrixValue(self.matrix, t)
        return self.emit(strategy, {**values, **picture})

    def _belongs_to_a_row(self, strategy: Strategy) -> bool:
        return not self._in_training and stream_type(strategy.experience) == self.stream

    def _entries(self) -> list[list[float]]:
        """Row, domain and accuracy of what belongs into the state."""
        domains = list(self._columns)
        # Looking at the others too would take longer the longer the stream is.
        last = min(len(self.trained_domains), len(self._accuracies) - 1)
        rows = [0, *range(self.rows_kept_elsewhere + 1, last + 1)]
        measured = ~np.isnan(self._accuracies[rows])
        return [
            [rows[k], domains[column], float(self._accuracies[rows[k], column])]
            for k, column in np.argwhere(measured).tolist()
        ]

    def _taken(self, rows: Sequence[int]) -> npt.NDArray[np.float64]:
        """The accuracy on each of the first domains of :attr:`domains`, each from a row
        of its own."""
        columns = [self._columns.get(k, -1) for k in self.domains[: len(rows)]]
        row, column = np.array(rows, dtype=int), np.array(columns, dtype=int)
        known = (column >= 0) & (row < len(self._accuracies))
        found = np.full(len(row), np.nan)
        found[known] = self._accuracies[row[known], column[known]]
        return found

    def _set(self, row: int, domain: int, accuracy: float) -> None:
        """Row 0 is that before any training."""
        column = self._columns.setdefault(domain, len(self._columns))
        rows, columns = self._accuracies.shape
        if row >= rows or column >= columns:
            # Twice the size, so that a long stream is not copied for each domain.
            size = (_grown(rows, row), _grown(columns, column))
            larger = np.full(size, np.nan)
            larger[:rows, :columns] = self._accuracies
            self._accuracies = larger
        self._accuracies[row, column] = accuracy

    def __str__(self) -> str:
        return "Domain"


class _AccuracyMatrixValue(AlternativeValues):  # type: ignore[misc]
    """A matrix that is drawn only for loggers that accept pictures.

    Loggers that print call ``str`` on it. The evaluation plugin, which keeps every
    value of a run, keeps numbers instead of pictures.
    """

    def __init__(self, matrix: npt.NDArray[np.float64], t: int) -> None:
        super().__init__()
        self.matrix = matrix
        self.t = t

    def best_supported_value(self, *supported_types: type) -> Image | None:
        if not any(issubclass(Image, supported) for supported in supported_types):
            return None
        return heat_map(self.matrix)

    def __str__(self) -> str:
        accuracies = " ".join(f"{value:.1f}" for value in self.matrix[self.t - 1])
        return f"after domain {self.t}: {accuracies}"


def domain_metrics(stream: str = "test") -> list[DomainMetrics]:
    """The metrics that build the accuracy matrix and emit the paper's metrics.

    To read the matrix afterwards, keep the metric::

        [domains] = domain_metrics()
        evaluator = EvaluationPlugin(domains, loggers=[...])
        ...
        domains.matrix

    :param stream: see :class:`DomainMetrics`.
    :return: a list of plugin metrics.
    """
    return [DomainMetrics(stream)]


def _grown(size: int, index: int) -> int:
    return size if index < size else max(2 * size, index + 1)


def _experiences_in_training(strategy: Strategy) -> Sequence[CLExperience]:
    # Joint training learns all domains at once but reports only the first.
    joint: Any = strategy if isinstance(strategy, JointTraining) else None
    found = [strategy.experience] if joint is None else joint._experiences
    return [origin_experience(each) for each in found]

"""Avalanche's loggers, for all metrics and for current versions of packages."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from avalanche.logging import CSVLogger as AvalancheCSVLogger
from avalanche.logging import TensorboardLogger as AvalancheTensorboardLogger
from avalanche.logging import WandBLogger as AvalancheWandBLogger
from torch.utils.tensorboard import SummaryWriter


class CSVLogger(AvalancheCSVLogger):  # type: ignore[misc]
    """Writes every number that a metric emits.

    Avalanche's writes two files with fixed columns, only for its own accuracy, loss and
    forgetting. This one also writes a third file, ``metrics.csv``, with a row of
    iteration, name and value for each number.

    ::

        evaluator = EvaluationPlugin(domain_metrics(), loggers=[CSVLogger("logs")])
        strategy = UDIL(model=model, optimizer=optimizer, evaluator=evaluator)

    :param log_folder: folder for the files.
    """

    def __init__(self, log_folder: str | Path = "csvlogs") -> None:
        super().__init__(str(log_folder))
        self.metrics_file = open(Path(log_folder, "metrics.csv"), "w", newline="")  # noqa: SIM115
        self._rows = csv.writer(self.metrics_file)
        self._rows.writerow(["iteration", "name", "value"])

    def log_single_metric(self, name: str, value: Any, x_plot: int) -> None:
        """Write a row, if the value is a number."""
        if isinstance(value, (int, float)):
            self._rows.writerow([x_plot, name, value])
            self.metrics_file.flush()

    def close(self) -> None:
        """Close the three files."""
        super().close()
        self.metrics_file.close()


class TensorboardLogger(AvalancheTensorboardLogger):  # type: ignore[misc]
    """Avalanche's logger for TensorBoard, for resumed runs: TensorBoard hides what the
    interrupted run wrote about the steps that are now repeated.

    ::

        logger = TensorboardLogger("runs/tensorboard")
        evaluator = EvaluationPlugin(domain_metrics(), term_metrics(), loggers=[logger])

    :param log_folder: folder for the events.
    :param first_step: the first step after resuming; ``None`` for a new run.
    """

    def __init__(self, log_folder: str | Path, first_step: int | None = None) -> None:
        self._first_step = first_step
        super().__init__(log_folder)

    def _make_writer(self, log_folder: Path, filename_suffix: str) -> SummaryWriter:
        return SummaryWriter(
            log_folder, purge_step=self._first_step, filename_suffix=filename_suffix
        )


class WandBLogger(AvalancheWandBLogger):  # type: ignore[misc]
    """Avalanche's logger for Weights & Biases, for versions of its client that no
    longer have ``wandb.viz`` and ``wandb.util.generate_id``, without which Avalanche's
    fails. It takes the same arguments.

    ::

        logger = WandBLogger(project_name="cameras", run_name="UDIL")
        evaluator = EvaluationPlugin(domain_metrics(), loggers=[logger])
    """

    def import_wandb(self) -> None:
        """Import the client, with the names that Avalanche looks for."""
        import wandb

        self.wandb: Any = _WithOldNames(wandb)


class _WithOldNames:
    def __init__(self, wandb: Any) -> None:
        self._wandb = wandb
        self.viz = SimpleNamespace(CustomChart=wandb.plot.CustomChart)
        # With None the client chooses an id.
        self.util = SimpleNamespace(generate_id=lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wandb, name)

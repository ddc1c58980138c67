"""Avalanche's loggers, where they leave metrics out or fail with today's packages."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from avalanche.logging import CSVLogger as AvalancheCSVLogger
from avalanche.logging import TensorboardLogger as AvalancheTensorboardLogger
from avalanche.logging import WandBLogger as AvalancheWandBLogger
from torch.utils.tensorboard import SummaryWriter


class CSVLogger(AvalancheCSVLogger):
    """Writes every number that a metric gives.

    Avalanche's writes two files with fixed columns, in which other metrics than its own
    accuracy, loss and forgetting have no place. This one writes those two and a third,
    ``metrics.csv``, with a row of iteration, name and value for each number.

    :param log_folder: where the files go.
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


class TensorboardLogger(AvalancheTensorboardLogger):
    """Avalanche's logger for TensorBoard, for a run that goes on after it was broken
    off: what the earlier part wrote of the steps that are now done again is left out of
    sight.

    :param log_folder: where the events go.
    :param first_step: the first step of this part; ``None`` for a run from its start.
    """

    def __init__(self, log_folder: str | Path, first_step: int | None = None) -> None:
        self._first_step = first_step
        super().__init__(log_folder)

    def _make_writer(self, log_folder: Path, filename_suffix: str) -> SummaryWriter:
        return SummaryWriter(
            log_folder, purge_step=self._first_step, filename_suffix=filename_suffix
        )


class WandBLogger(AvalancheWandBLogger):
    """Avalanche's logger for Weights & Biases, for versions of its client that no
    longer have ``wandb.viz`` and ``wandb.util.generate_id``, without which Avalanche's
    fails. It takes the same arguments.
    """

    def import_wandb(self) -> None:
        """Import the client, with the names that Avalanche looks for."""
        import wandb

        self.wandb: Any = _WithOldNames(wandb)


class _WithOldNames:
    def __init__(self, wandb: Any) -> None:
        self._wandb = wandb
        self.viz = SimpleNamespace(CustomChart=wandb.plot.CustomChart)
        # None lets the client choose an id by itself.
        self.util = SimpleNamespace(generate_id=lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wandb, name)


__all__ = ["CSVLogger", "TensorboardLogger", "WandBLogger"]

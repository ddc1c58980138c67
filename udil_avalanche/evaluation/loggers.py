"""Avalanche's loggers, where they leave metrics out or fail with today's packages."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from avalanche.logging import CSVLogger as AvalancheCSVLogger
from avalanche.logging import WandBLogger as AvalancheWandBLogger


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


__all__ = ["CSVLogger", "WandBLogger"]

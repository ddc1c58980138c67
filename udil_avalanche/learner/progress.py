"""The progress of an update on a terminal."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from udil_avalanche.plugins.shared.plugin import Plugin, Strategy

SECONDS_BETWEEN_UPDATES = 0.1


class StepProgress(Plugin):
    """A bar over the steps of a domain, inside a ``with progress.bar`` block. Nothing
    where the output is no terminal.

    It has no state, so that an update can be resumed with or without it.

    :param name: the domain.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        console = Console(stderr=True, force_terminal=sys.stderr.isatty())
        self.bar = Progress(
            TextColumn("learning {task.description}"),
            BarColumn(),
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self.bar.add_task(name, total=1)
        self._updated = 0.0

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Count the steps to take."""
        total = strategy.train_epochs * len(strategy.dataloader)
        self.bar.update(self._task, total=total)

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Show how many are done."""
        if time.monotonic() - self._updated > SECONDS_BETWEEN_UPDATES:
            self._updated = time.monotonic()
            done = strategy.clock.train_exp_iterations
            self.bar.update(self._task, completed=done)

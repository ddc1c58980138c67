"""The progress of a run: a bar on a terminal, a line for each domain in a log."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from udil_avalanche.formatting import duration, percent
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy

SECONDS_BETWEEN_UPDATES = 0.1


class ProgressPlugin(Plugin):
    """On a terminal, a bar over the domains, with the steps in the current one, the
    accuracy so far and the time left. Elsewhere, a line after each domain.

    The bar is shown inside a ``with`` block::

        with progress.bar:
            for experience in benchmark.train_stream:
                strategy.train(experience)

    :param n_domains: number of domains of the run.
    :param console: where to show it; the standard output by default.
    """

    def __init__(self, n_domains: int, console: Console | None = None) -> None:
        super().__init__()
        console = console or Console(force_terminal=sys.stdout.isatty())
        self.bar = Progress(
            TextColumn("domain {task.fields[domain]}/{task.total}"),
            BarColumn(),
            TextColumn("step {task.fields[step]}/{task.fields[steps]}"),
            TextColumn("{task.fields[accuracy]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self.bar.add_task(
            "", total=n_domains, domain=0, step=0, steps=0, accuracy=""
        )
        self._n_domains = n_domains
        self._domains_done = 0
        self._step = 0
        self._steps = 0
        self._updated = 0.0

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Begin a domain."""
        self._step = 0
        self._steps = strategy.train_epochs * len(strategy.dataloader)
        self._update()

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Count a step."""
        self._step += 1
        if time.monotonic() - self._updated > SECONDS_BETWEEN_UPDATES:
            self._update()

    def end_domain(self, accuracy: float | None, seconds: float) -> None:
        """Count a domain.

        :param accuracy: average accuracy over the domains learned, in percent; ``None``
            if they were not all tested.
        :param seconds: how long the domain took.
        """
        self._domains_done += 1
        shown = f"accuracy {percent(accuracy)}"
        self.bar.update(self._task, completed=self._domains_done, accuracy=shown)
        if self.bar.disable:
            line = f"domain {self._domains_done}/{self._n_domains}: {shown}"
            line += f", {duration(seconds)}"
            domains_left = self._n_domains - self._domains_done
            if domains_left:
                line += f", about {duration(domains_left * seconds)} left"
            self.bar.console.print(line, highlight=False, soft_wrap=True)

    def state_dict(self) -> dict[str, int]:
        """How far the run is."""
        return {"domains_done": self._domains_done, "step": self._step}

    def load_state_dict(self, state: dict[str, int], strategy: Strategy) -> None:
        """Continue from what :meth:`state_dict` returned.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self._domains_done, self._step = state["domains_done"], state["step"]
        # The time left is estimated from this part of the run alone.
        self.bar.reset(self._task, completed=self._domains_done)

    def _update(self) -> None:
        self._updated = time.monotonic()
        self.bar.update(
            self._task,
            completed=self._domains_done + self._step / max(self._steps, 1),
            domain=self._domains_done + 1,
            step=self._step,
            steps=self._steps,
        )

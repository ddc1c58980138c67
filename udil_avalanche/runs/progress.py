"""The progress of a run on the terminal."""

import sys
import time
from types import TracebackType
from typing import Any

from avalanche.training.plugins import SupervisedPlugin
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_UPDATES = 0.1


class ProgressPlugin(SupervisedPlugin):
    """A bar over the domains, with the steps in the current one, the accuracy so far
    and the time left. It says nothing where the output is not a terminal.

    It shows itself inside a ``with`` block::

        with progress:
            for experience in benchmark.train_stream:
                strategy.train(experience)

    :param n_domains: number of domains of the run.
    :param console: where to show the bar; the standard output by default.
    """

    def __init__(self, n_domains: int, console: Console | None = None) -> None:
        super().__init__()
        console = console or Console(force_terminal=sys.stdout.isatty())
        self._bar = Progress(
            TextColumn("domain {task.fields[domain]}/{task.total}"),
            BarColumn(),
            TextColumn("step {task.fields[step]}/{task.fields[steps]}"),
            TextColumn("{task.fields[accuracy]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(
            "", total=n_domains, domain=0, step=0, steps=0, accuracy=""
        )
        self._domains_done = 0
        self._step = 0
        self._steps = 0
        self._updated = 0.0

    def __enter__(self) -> "ProgressPlugin":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Begin a domain."""
        self._step = 0
        self._steps = strategy.train_epochs * len(strategy.dataloader)
        self._update()

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """Count a step."""
        self._step += 1
        if time.monotonic() - self._updated > SECONDS_BETWEEN_UPDATES:
            self._update()

    def end_domain(self, accuracy: float) -> None:
        """Count a domain.

        :param accuracy: average accuracy over the domains learned, in percent.
        """
        self._domains_done += 1
        self._bar.update(
            self._task,
            completed=self._domains_done,
            accuracy=f"accuracy {accuracy:.1f} %",
        )

    def state_dict(self) -> dict[str, int]:
        """How far the run is."""
        return {"domains_done": self._domains_done, "step": self._step}

    def load_state_dict(self, state: dict[str, int], strategy: Any) -> None:
        """Show a run that goes on from where :meth:`state_dict` was called.

        :param state: the dictionary.
        :param strategy: the strategy.
        """
        self._domains_done, self._step = state["domains_done"], state["step"]
        # The time left follows from what this part does, not from where it began.
        self._bar.reset(self._task, completed=self._domains_done)

    def _update(self) -> None:
        self._updated = time.monotonic()
        self._bar.update(
            self._task,
            completed=self._domains_done + self._step / max(self._steps, 1),
            domain=self._domains_done + 1,
            step=self._step,
            steps=self._steps,
        )


__all__ = ["ProgressPlugin"]

"""When a run saves its state, and how it resumes from it."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from udil_avalanche.errors import RunError
from udil_avalanche.plugins.shared.plugin import Plugin, Strategy
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.generators import generator_states, set_generator_states
from udil_avalanche.runs.state.resumed_epoch import ResumedEpoch
from udil_avalanche.runs.state.run_log import RunLog
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.runs.state.strategy_state import load_strategy_state, strategy_state

_MISFITS = (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError)
"""What loading a state that does not fit may raise."""


class SavingPlugin(Plugin):
    """Saves the state of a run after each domain and, every few seconds, between two
    iterations, and lets a new strategy resume from there as if nothing had happened.

    To resume between two domains, the state is loaded into the strategy. To resume
    within a domain,

    1. the state is loaded before ``train`` is called, so that the plugins find the
       memory and the models that they found when the domain began, and compute what the
       state leaves out;
    2. it is loaded again just before the first epoch, over what the plugins changed
       when the domain began: coefficients, optimizers, counters;
    3. Avalanche's loop gets only the remaining epochs, and the first of them only its
       remaining batches
       (:class:`~udil_avalanche.runs.state.resumed_epoch.ResumedEpoch`).

    It has to be called after all other plugins and Avalanche's clock, so it is appended
    to ``strategy.plugins`` when the strategy is complete.

    :param states: where to save.
    :param log: is saved together with the strategy.
    :param every: seconds between two states within a domain.
    :param stop: whether to save and stop.
    :param before_saving: called first, to write out what others have buffered.
    :param origin: what the state belongs to, in plain values; is saved with it, see
        :mod:`~udil_avalanche.runs.state.origin`.
    """

    def __init__(
        self,
        states: StateFolder,
        log: RunLog,
        *,
        every: float,
        stop: StopRequest,
        before_saving: Callable[[], None],
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.states = states
        self.log = log
        self.every = every
        self.stop = stop
        self.before_saving = before_saving
        self.origin = origin
        self._epoch_began: dict[str, Any] | None = None
        self._resumed: dict[str, Any] | None = None
        self._all_epochs = 0
        self._saved = time.monotonic()

    def resume(self, strategy: Strategy, state: dict[str, Any]) -> None:
        """Resume from a state: with the next domain, or within one.

        :param strategy: a strategy that was built like the one that was saved.
        :param state: what was saved.
        :raises RunError: if the state does not fit the strategy.
        """
        try:
            self.log.load_state_dict(state["record"])
            load_strategy_state(strategy, state["strategy"])
            set_generator_states(state["generators"])
            if state["epoch_began"] is not None:
                self._resumed = state
        except _MISFITS as error:
            reason = " ".join(str(error).split())[:200]
            raise RunError(
                f"the state in {self.states.path} does not fit the run: {reason}\n"
                f"To start again, remove {self.states.path.parent}"
            ) from error

    def before_training_exp(self, strategy: Strategy, **kwargs: Any) -> None:
        """Skip the epochs that are done."""
        if self._resumed is not None:
            # Avalanche's loop reads the number once, before the first epoch.
            self._all_epochs = strategy.train_epochs
            done = self._resumed["strategy"]["clock"]["train_exp_epochs"]
            strategy.train_epochs -= done

    def before_training_epoch(self, strategy: Strategy, **kwargs: Any) -> None:
        """Resume within the epoch, or keep the random generators at its beginning."""
        if self._resumed is None:
            self._epoch_began = generator_states()
            return
        state, self._resumed = self._resumed, None
        strategy.train_epochs = self._all_epochs
        load_strategy_state(strategy, state["strategy"])
        self._epoch_began = state["epoch_began"]
        strategy.dataloader = ResumedEpoch(
            strategy.dataloader,
            strategy.clock.train_epoch_iterations,
            rng_at_start=state["epoch_began"],
            rng_at_resume=state["generators"],
        )

    def after_training_iteration(self, strategy: Strategy, **kwargs: Any) -> None:
        """Save if it is time to, or if the run was asked to stop."""
        stopping = self.stop.signal_number is not None
        if stopping or time.monotonic() - self._saved >= self.every:
            self._save(strategy, where=f"in domain {self.log.experiences_done + 1}")

    def after_training_epoch(self, strategy: Strategy, **kwargs: Any) -> None:
        """Give the next epoch its own loader back."""
        if isinstance(strategy.dataloader, ResumedEpoch):
            strategy.dataloader = strategy.dataloader.loader

    def end_domain(self, strategy: Strategy, line: dict[str, Any]) -> None:
        """Save after a domain; stop there if the run was asked to.

        :param strategy: the strategy.
        :param line: what was measured.
        """
        self._epoch_began = None
        self.log.end_experience(line)
        self._save(strategy, where=f"after domain {self.log.experiences_done}")

    def _save(self, strategy: Strategy, where: str) -> None:
        """Save the state, and stop if the run was asked to.

        :param strategy: the strategy, between two iterations.
        :param where: where that is, for messages.
        :raises RunError: if it cannot be written, or if its weights are not finite.
        :raises RunStopped: if the run was asked to stop.
        """
        begin = time.perf_counter()
        where = f"{where}, after step {strategy.clock.train_iterations}"
        # The loss is not enough: it was computed before the step.
        for name, values in strategy.model.state_dict().items():
            if not torch.isfinite(values).all():
                raise RunError(
                    f"{name} is no longer finite {where}: try a smaller lr\n"
                    f"The last state before it, if any, is in {self.states.path}"
                )
        self.before_saving()
        self.log.tick()
        self.states.write(
            {
                "origin": self.origin,
                "record": self.log.state_dict(),
                "strategy": strategy_state(strategy),
                "generators": generator_states(),
                "epoch_began": self._epoch_began,
            }
        )
        self.log.seconds_saving += time.perf_counter() - begin
        self._saved = time.monotonic()
        self.stop.check(
            f"stopped {where}; the state is saved, and the same command resumes from "
            "there"
        )


def first_step(state: dict[str, Any] | None) -> int | None:
    """The first training step after a state, at which TensorBoard's log continues.

    :param state: what was saved, if anything was.
    """
    if state is None:
        return None
    try:
        step = int(state["strategy"]["clock"]["train_iterations"])
    except _MISFITS:
        return None  # SavingPlugin.resume refuses this state and says why.
    # What is measured between two domains belongs to the step before it.
    return step if state.get("epoch_began") is not None else step + 1

"""When a run saves its state, and how it goes on from it."""

import time
from collections.abc import Callable
from typing import Any

import torch
from avalanche.training.plugins import SupervisedPlugin
from avalanche.training.templates import SupervisedTemplate

from udil_avalanche.errors import RunError, RunStopped
from udil_avalanche.runs.state.checkpoint import StateFolder
from udil_avalanche.runs.state.generators import generator_states, set_generator_states
from udil_avalanche.runs.state.resumed_epoch import ResumedEpoch
from udil_avalanche.runs.state.run_log import RunLog
from udil_avalanche.runs.state.stop import StopRequest
from udil_avalanche.runs.state.strategy_state import load_strategy_state, strategy_state


class SavingPlugin(SupervisedPlugin):
    """Saves the state of a run between domains and, by time, between two iterations of
    one, and lets a new strategy go on from there as if nothing had happened.

    A state between domains is loaded into the strategy, and the next domain begins as
    ever. To go on within a domain,

    1. the state is loaded before ``train`` is called, so that all that happens at the
       domain's beginning finds the memory and the models that it found then, and works
       out what the state leaves out;
    2. it is loaded once more when the first epoch is about to begin, over all that the
       domain's beginning has changed: coefficients, optimizers, counters;
    3. Avalanche's loop is given the epochs that are left, and the first of them the
       batches that are left
       (:class:`~udil_avalanche.runs.state.resumed_epoch.ResumedEpoch`).

    It has to be called after all other plugins, Avalanche's clock included:
    :meth:`attach` appends it to the list of a strategy that is there already.

    :param states: where to save.
    :param record: what is saved beside the strategy.
    :param every: seconds between two states within a domain.
    :param stop: whether to save and stop.
    :param before_saving: called first, to write out what others hold back.
    """

    def __init__(
        self,
        states: StateFolder,
        record: RunLog,
        *,
        every: float,
        stop: StopRequest,
        before_saving: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self.states = states
        self.record = record
        self.every = every
        self.stop = stop
        self.before_saving = before_saving
        self._epoch_began: dict[str, Any] | None = None
        self._resumed: dict[str, Any] | None = None
        self._all_epochs = 0
        self._saved = time.monotonic()

    def attach(self, strategy: SupervisedTemplate) -> None:
        """Have it called by a strategy, after all plugins that are there.

        :param strategy: the strategy.
        """
        strategy.plugins.append(self)

    def resume(self, strategy: SupervisedTemplate, state: dict[str, Any]) -> None:
        """Go on from a state: with the next domain, or with the rest of one.

        :param strategy: a strategy that was made like the one that was saved.
        :param state: what was saved.
        :raises RunError: if it is the state of something else.
        """
        try:
            self.record.load_state_dict(state["record"])
            load_strategy_state(strategy, state["strategy"])
            set_generator_states(state["generators"])
            if state["epoch_began"] is not None:
                self._resumed = state
        except _MISFITS as error:
            reason = " ".join(str(error).split())[:200]
            raise RunError(
                f"the state in {self.states.path} does not fit the run: {reason}\n"
                f"To start anew, remove {self.states.path.parent}"
            ) from error

    def before_training_exp(self, strategy: Any, **kwargs: Any) -> None:
        """Leave out the epochs that were done."""
        if self._resumed is not None:
            # The loop asks once how many there are, before the first of them begins.
            self._all_epochs = strategy.train_epochs
            done = self._resumed["strategy"]["clock"]["train_exp_epochs"]
            strategy.train_epochs -= done

    def before_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        """Go on within the epoch, or note how the random generators begin it."""
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

    def after_training_iteration(self, strategy: Any, **kwargs: Any) -> None:
        """Save if it is time, or if the run is to stop."""
        stop = self.stop.signal_number is not None
        if stop or time.monotonic() - self._saved >= self.every:
            self._require_finite_weights(strategy)
            self.save(strategy)
        if stop:
            self._stop(f"in domain {self.record.experiences_done + 1}", strategy)

    def after_training_epoch(self, strategy: Any, **kwargs: Any) -> None:
        """Give the next epoch its loader back."""
        if isinstance(strategy.dataloader, ResumedEpoch):
            strategy.dataloader = strategy.dataloader.loader

    def end_domain(self, strategy: SupervisedTemplate, line: dict[str, Any]) -> None:
        """Save between two domains; stop there if the run is to.

        :param strategy: the strategy.
        :param line: what was measured.
        """
        self._require_finite_weights(strategy)
        self._epoch_began = None
        self.record.end_experience(line)
        self.save(strategy)
        if self.stop.signal_number is not None:
            self._stop(f"after domain {self.record.experiences_done}", strategy)

    def save(self, strategy: SupervisedTemplate) -> None:
        """Save the state as it is now.

        :param strategy: the strategy, between two iterations.
        :raises RunError: if the disk refuses.
        """
        begin = time.perf_counter()
        self.before_saving()
        self.record.tick()
        self.states.write(
            {
                "record": self.record.state_dict(),
                "strategy": strategy_state(strategy),
                "generators": generator_states(),
                "epoch_began": self._epoch_began,
            }
        )
        self.record.seconds_saving += time.perf_counter() - begin
        self._saved = time.monotonic()

    def _require_finite_weights(self, strategy: SupervisedTemplate) -> None:
        """Keep the last state that can be learned from: a loss shows only in the next
        step that the one before has led nowhere."""
        for name, values in strategy.model.state_dict().items():
            if not torch.isfinite(values).all():
                raise RunError(
                    f"{name} is no longer finite after step "
                    f"{strategy.clock.train_exp_iterations} of domain "
                    f"{self.record.experiences_done + 1}: try a smaller lr\n"
                    f"The last state before it, if any, is in {self.states.path}"
                )

    def _stop(self, where: str, strategy: SupervisedTemplate) -> None:
        assert self.stop.signal_number is not None
        raise RunStopped(
            f"stopped {where}, after step {strategy.clock.train_iterations}; all is "
            "saved, and the same command goes on from there",
            self.stop.signal_number,
        )


def first_step(state: dict[str, Any] | None) -> int | None:
    """The first training step that comes after a state, by which its log is to be
    continued.

    :param state: what was saved, if anything was.
    """
    if state is None:
        return None
    try:
        step = int(state["strategy"]["clock"]["train_iterations"])
    except _MISFITS:
        # Of something else: it is refused when the run is to go on from it.
        return None
    # What is measured between two domains belongs to the step before.
    return step if state.get("epoch_began") is not None else step + 1


_MISFITS = (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError)


__all__ = ["SavingPlugin", "first_step"]

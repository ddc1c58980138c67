"""A run that is interrupted anywhere has the same result as one that is not."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.errors import RunStopped
from udil_avalanche.plugins import FiniteLossPlugin
from udil_avalanche.recipes import METHODS, RunSettings
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs import experiment
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

Tiny = Callable[..., RunSettings]
Outcome = Callable[[RunSettings], Any]


class PowerCutError(Exception):
    """Ends a run as abruptly as an exception can."""


def cut_power() -> None:
    raise PowerCutError


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def break_off(settings: RunSettings, step: int, by: Callable[[], None]) -> None:
    """Have something happen in a step, counted over all domains."""

    class Breaking(FiniteLossPlugin):
        def before_backward(self, strategy: Any, **kwargs: Any) -> None:
            if strategy.clock.train_iterations + 1 == step:
                by()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "FiniteLossPlugin", Breaking)
        with pytest.raises((PowerCutError, RunStopped)):
            run(settings)
    assert not RunFolder.of(settings).is_done


TERMS = {"lambda_d": 0.1, "lambda_p": 0.1, "lambda_s": 0.01}
PAPERS_FORMULAS = {
    "coefficients": "learned",
    "honest": False,
    "gated": False,
    "own_history": False,
    "relative": False,
}
VARIANTS = [
    *((strategy, {}) for strategy in METHODS),
    *((strategy, {"reservoir": True}) for strategy in ("ER", "DER++")),
    ("UDIL", {"coefficients": "DER++", **TERMS}),
    ("UDIL", TERMS),
    ("UDIL", {**PAPERS_FORMULAS, **TERMS}),
    ("UDIL", {"optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "anneal": 0.5}),
    ("oEWC", {"fisher_samples": 50}),
    *((strategy, {"average": 0.9}) for strategy in ("UDIL", "LwF", "Joint")),
]


@pytest.mark.parametrize(
    ("strategy", "options"),
    VARIANTS,
    ids=[f"{s}-{'-'.join(map(str, o.values()))}" for s, o in VARIANTS],
)
def test_every_strategy_goes_on_as_if_nothing_had_happened(
    strategy: str, options: dict[str, Any], tiny: Tiny, outcome: Outcome, tmp_path: Path
) -> None:
    options = {"save_every": 1e9, **options}
    whole = tiny(strategy, tmp_path / "whole", **options)
    broken = tiny(strategy, tmp_path / "broken", **options)
    run(whole)
    # A method in closed form takes one epoch instead of two.
    within, last, later, third = (
        (6, 8, 12, 21) if METHODS[strategy].build_head is None else (3, 4, 6, 11)
    )
    break_off(broken, within, by=press_ctrl_c)
    break_off(broken, last, by=press_ctrl_c)  # which is a domain's last step
    break_off(broken, later, by=cut_power)  # back to the end of the first domain
    break_off(broken, third, by=press_ctrl_c)
    run(broken)
    assert outcome(broken) == outcome(whole)


@pytest.mark.parametrize("strategy", METHODS)
def test_standardised_inputs_stay_as_they_were(
    strategy: str,
    outcome: Outcome,
    write_sensors: Callable[..., Path],
    tmp_path: Path,
) -> None:
    data = write_sensors(tmp_path / "data", domains=2, size=80)
    small = {"data": str(data), "threads": 1, "hidden": 8, "epochs": 2}
    if METHODS[strategy].has_memory:
        small["memory"] = 20
    if "random_features" in METHODS[strategy].settings.model_fields:
        small["random_features"] = 30
    whole, broken = (
        resolve(strategy, "arrays", options={**small, "output": str(tmp_path / name)})
        for name in ("whole", "broken")
    )
    run(whole)
    one_epoch = METHODS[strategy].build_head is not None
    break_off(broken, 2 if one_epoch else 3, by=press_ctrl_c)
    run(broken)
    assert outcome(broken) == outcome(whole)

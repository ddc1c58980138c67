"""A run that is broken off anywhere comes to the result of one that is not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from udil_avalanche import experiment
from udil_avalanche.experiment import run
from udil_avalanche.plugins import FiniteLossPlugin
from udil_avalanche.run_folder import RunFolder
from udil_avalanche.settings import STRATEGIES, RunSettings

Tiny = Callable[..., RunSettings]
Outcome = Callable[[RunSettings], Any]


class PowerCutError(Exception):
    """Ends a run as abruptly as an exception can."""


def break_off(settings: RunSettings, step: int, hook: str = "before_backward") -> None:
    """Run until a hook is called for the given step, counted over all domains."""

    class Cut(FiniteLossPlugin):
        pass

    def cut(self: Any, strategy: Any, **kwargs: Any) -> None:
        if strategy.clock.train_iterations + 1 == step:
            raise PowerCutError

    setattr(Cut, hook, cut)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "FiniteLossPlugin", Cut)
        with pytest.raises(PowerCutError):
            run(settings)
    assert not RunFolder.of(settings).is_done


VARIANTS = [
    *((strategy, {}) for strategy in STRATEGIES),
    *((s, {"reservoir": True}) for s in ("ER", "DER++", "CLS-ER", "ESM-ER")),
    ("UDIL", {"coefficients": "DER++"}),
    ("UDIL", {"memory": 0}),
    ("UDIL", {"optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "anneal": 0.5}),
    ("oEWC", {"fisher_samples": 50}),
]


@pytest.mark.parametrize(
    ("strategy", "options"),
    VARIANTS,
    ids=[f"{s}-{'-'.join(map(str, o.values()))}" for s, o in VARIANTS],
)
def test_every_strategy_goes_on_as_if_nothing_had_happened(
    strategy: str, options: dict[str, Any], tiny: Tiny, outcome: Outcome, tmp_path: Path
) -> None:
    whole = tiny(strategy, tmp_path / "whole", **options)
    broken = tiny(strategy, tmp_path / "broken", **options)
    run(whole)
    # In a second epoch; in a domain's first step, after one; in the last domain.
    for step in (6, 9, 19):
        break_off(broken, step)
    run(broken)
    assert outcome(broken) == outcome(whole)

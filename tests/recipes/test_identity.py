"""Runs are found again after settings were added or renamed."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from udil_avalanche.errors import RunError
from udil_avalanche.recipes import BENCHMARKS, METHODS, RunSettings, Was
from udil_avalanche.recipes.identity import fingerprint, identity
from udil_avalanche.recipes.resolve import (
    current_names,
    load_settings,
    resolve,
    run_settings_class,
    stored_settings,
)
from udil_avalanche.recipes.settings import Before, settings_class
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

RESULTS = Path(__file__).parents[2] / "results"
KEPT = sorted(RESULTS.rglob("settings.yaml"))


def on_hd_balls(strategy: str, method: type[RunSettings]) -> type[RunSettings]:
    """The settings of a run on HD-Balls by a method whose settings are these."""
    recipe = BENCHMARKS["hd_balls"]
    names = {"strategy": strategy, "benchmark": "hd_balls"}
    return settings_class(
        "later", recipe.settings, method, {**recipe.defaults, **names}
    )


def extended(**fields: Any) -> type[RunSettings]:
    """The settings of UDIL on HD-Balls as a later version might have them."""
    methods = METHODS["UDIL"].settings
    later = type("Later", (methods,), {"__module__": __name__, **fields})
    return on_hd_balls("UDIL", later)


def test_all_runs_that_are_kept_are_found_by_their_settings() -> None:
    assert len(KEPT) >= 108
    for file in KEPT:
        settings = stored_settings(load_settings(file))
        assert RunFolder.of(settings).path.name == file.parent.name


def test_a_setting_that_is_added_leaves_old_runs_where_they_are() -> None:
    now = run_settings_class("UDIL", "hd_balls")()
    later = extended(__annotations__={"new": float}, new=Field(0.5, ge=0))
    assert later().new == 0.5  # type: ignore[attr-defined]
    assert fingerprint(later()) == fingerprint(now)
    assert fingerprint(later(new=0.7)) != fingerprint(now)


def test_a_new_setting_whose_default_is_not_what_was_done_before() -> None:
    now = run_settings_class("UDIL", "hd_balls")()
    annotation = Annotated[bool, Before(False)]
    later = extended(__annotations__={"better": annotation}, better=True)
    assert fingerprint(later(better=False)) == fingerprint(now)
    assert fingerprint(later()) != fingerprint(now)


def test_a_setting_that_is_renamed_keeps_its_first_name_in_the_identity() -> None:
    now = run_settings_class("UDIL", "hd_balls")(lambda_d=0.3)
    annotation = Annotated[float, Was("lambda_d")]
    later = extended(__annotations__={"alignment": annotation}, alignment=0.1)
    renamed = {**identity(later(alignment=0.3)), "lambda_d": 0.3}
    assert renamed == identity(now)


def test_old_names_are_understood() -> None:
    settings = resolve("UDIL", "hd_balls", overrides=["domain_power=0.5"])
    assert settings.objective_t_power == 0.5  # type: ignore[attr-defined]
    assert identity(settings)["domain_power"] == 0.5
    assert "objective_t_power" not in identity(settings)


@pytest.mark.parametrize(
    "place", ["output=elsewhere", "threads=1", "device=cuda", "save_every=1", "data=x"]
)
def test_where_a_run_takes_place_does_not_tell_it_from_others(place: str) -> None:
    there = resolve("UDIL", "hd_balls", overrides=[place])
    assert fingerprint(there) == fingerprint(resolve("UDIL", "hd_balls"))


def test_another_folder_with_ones_own_data_is_another_run() -> None:
    one, other = (
        resolve("ER", "arrays", overrides=[f"data={folder}"]) for folder in "ab"
    )
    assert fingerprint(one) != fingerprint(other)


def test_a_name_of_0_1_that_another_method_had_is_new_to_this_one() -> None:
    later = type(
        "Later",
        (METHODS["ER"].settings,),
        {
            "__module__": __name__,
            "__annotations__": {"temperature": float},
            "temperature": 2.0,
        },
    )
    schema = on_hd_balls("ER", later)
    now = run_settings_class("ER", "hd_balls")()
    assert fingerprint(schema()) == fingerprint(now)


def test_all_earlier_names_are_understood() -> None:
    annotation = Annotated[float, Was("first"), Was("second")]
    later = extended(__annotations__={"third": annotation}, third=0.5)
    assert {"first", "second", "third"} <= current_names(later).keys()
    assert identity(later(third=0.7))["first"] == 0.7


def test_a_run_that_was_finished_by_other_settings_is_not_taken_for_this_one(
    tmp_path: Path,
) -> None:
    # As when the default of a setting that the identity leaves out was changed.
    wanted, others = (
        resolve("UDIL", "hd_balls", options={"output": str(tmp_path), "C": C})
        for C in (2, 3)
    )
    folder = RunFolder.of(wanted)
    assert not folder.holds(wanted)
    folder.begin(others)
    folder.finish({"avg_acc": 50.0})
    with pytest.raises(RunError, match=r"was started with C=3\.0, not C=2\.0"):
        folder.holds(wanted)
    with pytest.raises(RunError, match="was started with"):
        run(wanted)

"""Settings of methods and benchmarks, and how they join."""

from inspect import signature
from typing import Any

import pytest

from udil_avalanche.errors import SettingsError
from udil_avalanche.models import mlp
from udil_avalanche.plugins import AveragedWeightsPlugin
from udil_avalanche.recipes import BENCHMARKS, METHODS, RunSettings, as_dict
from udil_avalanche.recipes.build import build_benchmark, build_model, build_strategy
from udil_avalanche.recipes.resolve import resolve, run_settings_class
from udil_avalanche.recipes.settings import (
    Role,
    meanings,
    own_settings,
    role_of,
    settings_class,
)

RECIPES = [*METHODS.values(), *BENCHMARKS.values()]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("strategy", METHODS)
def test_every_setting_has_a_line_of_meaning(strategy: str, benchmark: str) -> None:
    for name, meaning in meanings(run_settings_class(strategy, benchmark)).items():
        assert meaning, name


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_setting_that_is_redefined_keeps_its_role(recipe: Any) -> None:
    for name, field in own_settings(recipe.settings).items():
        if name in RunSettings.model_fields and name != "data":
            assert role_of(field) is role_of(RunSettings.model_fields[name]), name


def test_settings_join_those_of_run_strategy_and_benchmark() -> None:
    settings = as_dict(run_settings_class("UDIL", "hd_balls")())
    assert settings["strategy"] == "UDIL"
    assert settings["benchmark"] == "hd_balls"
    assert {"seed", "C", "dimensions"} <= settings.keys()
    assert "per_image_angles" not in settings


def test_a_strategy_may_change_the_default_and_the_meaning_of_a_setting() -> None:
    fine_tune = run_settings_class("Fine-tune", "seq_core50")
    assert fine_tune().memory == 0
    assert meanings(fine_tune)["memory"] == "this strategy keeps no samples"
    assert run_settings_class("ER", "hd_balls")().memory == 400
    assert run_settings_class("ER", "seq_core50")().memory == 500
    joint = run_settings_class("Joint", "hd_balls")
    assert joint().memory == 0
    assert "all samples of all domains" in meanings(joint)["memory"]


def test_a_benchmark_may_want_other_defaults_of_a_method() -> None:
    assert as_dict(run_settings_class("ER", "hd_balls")())["memory_batch"] == 128
    on_arrays = as_dict(run_settings_class("ER", "arrays")())
    assert (on_arrays["memory_batch"], on_arrays["epochs"]) == (64, 10)
    assert run_settings_class("ER", "rotated_mnist")().epochs == 1
    assert "memory_batch" not in as_dict(run_settings_class("LwF", "arrays")())


def test_where_the_data_are_the_task_their_folder_counts() -> None:
    for name in BENCHMARKS:
        field = run_settings_class("ER", name).model_fields["data"]
        own = name in ("seq_core50", "folders", "arrays")
        assert role_of(field) is (Role.TASK if own else Role.PLACE), name


def test_the_size_of_images_changes_what_is_learned() -> None:
    field = run_settings_class("ER", "seq_core50").model_fields["image_size"]
    assert role_of(field) is Role.TASK


def defaults_of(strategy: Any) -> dict[str, set[Any]]:
    """The defaults of all parameters of a strategy of ours, of its plugins and of its
    classifier."""
    found: dict[str, set[Any]] = {}
    for kind in map(type, [strategy, *strategy.plugins, strategy.model.predictor]):
        if kind.__module__.startswith("udil_avalanche"):
            for name, parameter in signature(kind).parameters.items():
                found.setdefault(name, set()).add(parameter.default)
    return found


@pytest.mark.parametrize("name", METHODS)
def test_settings_have_the_defaults_of_the_constructors(name: str, silent: Any) -> None:
    names = {
        "memory_batch": ("batch_size_mem", "sample_size"),
        "C": ("c",),
        "fisher_samples": ("n_samples",),
        "coefficients": (),
    }
    settings = run_settings_class(name, "hd_balls")()
    model = build_model(settings, build_benchmark(settings))
    defaults = defaults_of(build_strategy(settings, model, evaluator=silent()))
    for key, field in METHODS[name].settings.model_fields.items():
        if key not in RunSettings.model_fields:
            for parameter in {*names.get(key, (key,))} & defaults.keys():
                assert field.default in defaults[parameter], key
            assert key == "coefficients" or {*names.get(key, (key,))} & defaults.keys()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_averages_its_weights_unless_it_has_an_average_of_its_own(
    name: str, silent: Any
) -> None:
    reasons = {"stable_alpha": "average of its own"}
    if METHODS[name].build_head is not None:
        reasons = {"average": "no steps to average"}
    for setting, reason in reasons.items():
        if setting in own_settings(METHODS[name].settings):
            with pytest.raises(SettingsError, match=rf"must be 0 .*{reason}"):
                resolve(name, "hd_balls", options={"average": 0.9})
            return
    decays = {}
    for average in (0.0, 0.9):
        settings = resolve(name, "hd_balls", options={"average": average})
        model = mlp(input_size=100, n_classes=2, hidden=8)
        strategy = build_strategy(settings, model, evaluator=silent())
        decays[average] = [
            plugin.stable.alpha
            for plugin in strategy.plugins
            if isinstance(plugin, AveragedWeightsPlugin)
        ]
    assert decays == {0.0: [], 0.9: [0.9]}


def test_a_default_of_the_wrong_kind_is_refused() -> None:
    parts = (BENCHMARKS["hd_balls"].settings, METHODS["ER"].settings)
    assert settings_class("a", *parts, {"lr": 1})().lr == 1.0
    with pytest.raises(ValueError, match="lr"):
        settings_class("b", *parts, {"lr": "fast"})()


def test_a_setting_of_method_and_benchmark_at_once_is_refused() -> None:
    class Clashing(RunSettings):
        reservoir: int = 3
        """another thing"""

    with pytest.raises(SettingsError, match="both have a setting reservoir"):
        settings_class("clash", Clashing, METHODS["ER"].settings, {})

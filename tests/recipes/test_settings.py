"""Settings of methods and benchmarks, and how they join."""

from inspect import Parameter, signature
from typing import Any

import pytest

from udil_avalanche import plugins
from udil_avalanche.recipes import BENCHMARKS, METHODS, RunSettings, as_dict
from udil_avalanche.recipes.resolve import run_settings_class
from udil_avalanche.recipes.settings import Role, meanings, own_settings, role_of
from udil_avalanche.strategies import UDIL

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
    assert (on_arrays["memory_batch"], on_arrays["optimizer"]) == (64, "adam")
    assert "memory_batch" not in as_dict(run_settings_class("LwF", "arrays")())


def test_where_the_data_are_the_task_their_folder_counts() -> None:
    for name in BENCHMARKS:
        field = run_settings_class("ER", name).model_fields["data"]
        own = name in ("seq_core50", "folders", "arrays")
        assert role_of(field) is (Role.TASK if own else Role.PLACE), name


def test_the_size_of_images_changes_what_is_learned() -> None:
    field = run_settings_class("ER", "seq_core50").model_fields["image_size"]
    assert role_of(field) is Role.TASK


def test_settings_of_udil_have_the_defaults_of_its_constructor() -> None:
    names = {"memory": "mem_size", "memory_batch": "batch_size_mem", "C": "c"}
    constructor = {
        name: parameter.default
        for name, parameter in signature(UDIL).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    settings = {
        names.get(key, key): value
        for key, value in as_dict(METHODS["UDIL"].settings()).items()
    }
    own = constructor.keys() & settings.keys() - {"optimizer", "device"}
    assert len(own) >= 14
    for name in own:
        assert settings[name] == constructor[name], name


@pytest.mark.parametrize(
    ("strategy", "plugin", "names"),
    [
        ("oEWC", plugins.OnlineEWCPlugin, {"fisher_samples": "n_samples"}),
        ("SI", plugins.SynapticIntelligencePlugin, {}),
        ("LwF", plugins.LwFPlugin, {}),
        ("GEM", plugins.GEMPlugin, {}),
        ("A-GEM", plugins.AGEMPlugin, {"memory_batch": "sample_size"}),
        ("ER", plugins.BalancedReplayPlugin, {"memory_batch": "batch_size_mem"}),
        ("DER++", plugins.DERPlugin, {"memory_batch": "batch_size_mem"}),
        ("CLS-ER", plugins.CLSERPlugin, {}),
        ("ESM-ER", plugins.ESMERPlugin, {}),
    ],
)
def test_settings_of_a_baseline_have_the_defaults_of_its_plugin(
    strategy: str, plugin: Any, names: dict[str, str]
) -> None:
    shared = METHODS["ER"].settings if strategy in ("CLS-ER", "ESM-ER") else RunSettings
    own = {
        names.get(key, key): field.default
        for key, field in METHODS[strategy].settings.model_fields.items()
        if key not in shared.model_fields
    }
    defaults = {
        name: parameter.default
        for name, parameter in signature(plugin).parameters.items()
    }
    assert own
    assert own == {name: defaults[name] for name in own}

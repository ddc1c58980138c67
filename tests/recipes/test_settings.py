from dataclasses import fields
from inspect import Parameter, signature
from typing import Any

import pytest

from udil_avalanche import build, plugins
from udil_avalanche.settings import (
    BENCHMARKS,
    STRATEGIES,
    ERSettings,
    RunSettings,
    UDILSettings,
    as_dict,
    meanings,
    settings_class,
)
from udil_avalanche.strategies import UDIL


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_setting_has_a_line_of_meaning(strategy: str, benchmark: str) -> None:
    joined = settings_class(strategy, benchmark)
    for each in fields(joined):
        assert meanings(joined)[each.name]


def test_settings_join_those_of_run_strategy_and_benchmark() -> None:
    settings = as_dict(settings_class("UDIL", "hd_balls")())
    assert settings["strategy"] == "UDIL"
    assert settings["benchmark"] == "hd_balls"
    assert {"seed", "C", "dimensions"} <= settings.keys()
    assert "per_image_angles" not in settings


def test_a_strategy_may_change_the_default_and_the_meaning_of_a_setting() -> None:
    fine_tune = settings_class("Fine-tune", "hd_balls")
    assert fine_tune().memory == 0
    assert meanings(fine_tune)["memory"] == "this strategy keeps no samples"
    assert settings_class("ER", "hd_balls")().memory == 400
    joint = settings_class("Joint", "hd_balls")
    assert joint().memory == 0
    assert "all samples of all domains" in meanings(joint)["memory"]


def test_whatever_has_settings_can_be_built() -> None:
    assert STRATEGIES.keys() == build.STRATEGIES.keys()
    assert BENCHMARKS.keys() == build.BENCHMARKS.keys()


def test_settings_of_udil_have_the_defaults_of_its_constructor() -> None:
    names = {"memory": "mem_size", "memory_batch": "batch_size_mem", "C": "c"}
    constructor = {
        name: parameter.default
        for name, parameter in signature(UDIL).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    settings = {
        names.get(key, key): value for key, value in as_dict(UDILSettings()).items()
    }
    own_settings = constructor.keys() & settings.keys() - {"optimizer", "device"}
    assert len(own_settings) >= 14
    for name in own_settings:
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
    shared = as_dict(
        ERSettings() if strategy in ("CLS-ER", "ESM-ER") else RunSettings()
    )
    own = {
        names.get(key, key): value
        for key, value in as_dict(STRATEGIES[strategy]()).items()
        if key not in shared
    }
    defaults = {
        name: parameter.default
        for name, parameter in signature(plugin).parameters.items()
    }
    assert own
    assert own == {name: defaults[name] for name in own}

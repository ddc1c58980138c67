from dataclasses import fields
from inspect import Parameter, signature

import pytest

from udil_avalanche import build
from udil_avalanche.settings import (
    BENCHMARKS,
    STRATEGIES,
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
    assert meanings(fine_tune)["memory"] == "fine-tuning keeps no samples"
    assert settings_class("ER", "hd_balls")().memory == 400


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

"""Settings that bring other defaults with them."""

from pathlib import Path
from typing import Any

import pytest

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes import as_dict
from udil_avalanche.recipes.build import build_benchmark
from udil_avalanche.recipes.identity import fingerprint
from udil_avalanche.recipes.resolve import from_dict, resolve


def settings(strategy: str = "ER", *overrides: str) -> dict[str, Any]:
    found = resolve(strategy, "folders", overrides=overrides, configs=None)
    assert as_dict(from_dict(as_dict(found))) == as_dict(found)
    return as_dict(found)


def test_frozen_features_are_learned_from_like_arrays() -> None:
    plain, frozen = settings(), settings("ER", "frozen=true")
    assert (plain["network"], plain["image_size"]) == ("resnet18", 128)
    assert (frozen["network"], frozen["image_size"]) == ("efficientnet_lite0", None)
    assert plain["flip"] and not frozen["flip"]
    arrays = as_dict(resolve("ER", "arrays", configs=None))
    for key in ("optimizer", "lr", "epochs", "batch_size", "memory_batch", "clip_norm"):
        assert frozen[key] == arrays[key], key


def test_what_is_given_goes_before_them() -> None:
    given = settings("ER", "frozen=true", "epochs=3", "network=resnet50")
    assert (given["epochs"], given["network"]) == (3, "resnet50")
    assert given["lr"] == 0.5


def test_what_a_method_redefines_stays() -> None:
    assert settings("NCM", "frozen=true")["epochs"] == 1
    assert "memory_batch" not in settings("LwF", "frozen=true")


def test_the_switches_off_change_no_identity(tmp_path: Path) -> None:
    """So that runs of earlier versions are found again."""
    plain = resolve("ER", "folders", configs=None)
    off = resolve("ER", "folders", overrides=["frozen=false"], configs=None)
    on = resolve("ER", "folders", overrides=["frozen=true"], configs=None)
    assert fingerprint(plain) == fingerprint(off) != fingerprint(on)
    moved = ["frozen=true", "cache=elsewhere"]
    assert fingerprint(on) == fingerprint(
        resolve("ER", "folders", overrides=moved, configs=None)
    )


@pytest.mark.parametrize(
    ("override", "reason"),
    [("flip=true", "cannot be mirrored"), ("lr_backbone=0.1", "does not learn")],
)
def test_what_makes_no_sense_with_features_is_refused(
    override: str, reason: str, tmp_path: Path, write_tree: Any
) -> None:
    write_tree(tmp_path, {"a": {"x": 4, "y": 4}})
    frozen = resolve(
        "ER", "folders", overrides=["frozen=true", override, f"data={tmp_path}"]
    )
    with pytest.raises(ValueError, match=reason):
        build_benchmark(frozen)


def test_a_wrong_value_of_a_switch_is_explained() -> None:
    with pytest.raises(SettingsError, match="frozen=perhaps: expected true or false"):
        resolve("ER", "folders", overrides=["frozen=perhaps"])

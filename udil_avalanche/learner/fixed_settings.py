"""The settings of a model that exists: fixed, but for where it runs."""

from collections.abc import Mapping
from typing import Any

from udil_avalanche.errors import ModelError, SettingsError
from udil_avalanche.recipes import Role, RunSettings
from udil_avalanche.recipes.resolve import resolve, stored_settings
from udil_avalanche.recipes.settings import names_with

KINDS = {"arrays": "arrays", "folders": "folders of images"}


def fixed_settings(
    written: Mapping[str, Any], given: Mapping[str, Any], kind: str
) -> RunSettings:
    """The settings with which a model goes on.

    :param written: those that it was made with.
    :param given: those of where it runs that are to change.
    :param kind: which benchmark reads the data at hand.
    :raises ModelError: if the model learns from data of another kind.
    :raises SettingsError: if a setting is to change that cannot.
    """
    kept = stored_settings(written)
    if kept.benchmark != kind:
        raise ModelError(
            f"the model learns from {KINDS[kept.benchmark]}, but these data are "
            f"{KINDS[kind]}"
        )
    places = names_with(Role.PLACE, type(kept))
    now = resolve(options={**kept.model_dump(), **given})
    changed = [
        key
        for key in given
        if key not in places and getattr(now, key) != getattr(kept, key)
    ]
    if changed:
        raise SettingsError(
            f"{', '.join(changed)}: fixed when the model was made; only "
            f"{', '.join(sorted(places - {'output', 'data'}))} can change"
        )
    return now

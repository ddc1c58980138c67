"""The variants of a sweep: named sets of settings, tried one at a time."""

from typing import Any

from udil_avalanche.errors import SettingsError
from udil_avalanche.sweep.entries import mapping_of, refuse_reserved, single_values


def variants_of(written: Any) -> dict[str, dict[str, Any]]:
    """Check the variants of a sweep.

    :param written: for each name of a variant its settings; none for the method as it
        is.
    :raises SettingsError: if a variant is malformed.
    """
    variants = {
        name: mapping_of(f"variant {name}", settings)
        for name, settings in mapping_of("variants", written).items()
    }
    if not variants:
        raise SettingsError("variants needs a line of name: {setting: value, ...}")
    for name, settings in variants.items():
        refuse_reserved(settings, f"variant {name}", allowed={"memory"})
        single_values(settings, f"variant {name}")
    return variants

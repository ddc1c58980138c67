"""What a model adds to the settings of its training. Loads neither torch nor
Avalanche."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from udil_avalanche.errors import SettingsError


class ModelOptions(BaseModel):
    """Options of a model that lives on."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    reserve: int = Field(200, ge=0)
    """samples of each domain that are held out, to test every later version on; at most
    a fifth of the domain"""
    classes: str | None = None
    """the names of all classes, separated by commas, if the first domains do not have
    them all"""
    grow: bool = False
    """add outputs for classes that the model does not know, instead of refusing them"""


def split_options(overrides: Iterable[str]) -> tuple[ModelOptions, list[str]]:
    """The options of a model among settings, and the other settings.

    :param overrides: settings as ``"key=value"``.
    :raises SettingsError: if a value is wrong.
    """
    own: dict[str, Any] = {}
    others = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if equals and key.strip() in ModelOptions.model_fields:
            own[key.strip()] = value.strip()
        else:
            others.append(override)
    try:
        return ModelOptions(**own), others
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        meaning = ModelOptions.model_fields[name]
        raise SettingsError(
            f"{name}={first['input']}: {first['msg'].lower()} "
            f"({meaning.description or name})"
        ) from None

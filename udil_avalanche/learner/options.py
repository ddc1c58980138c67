"""What a model adds to the settings of its training. Loads neither torch nor
Avalanche."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import key_values


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


NOT_SETTINGS = {
    "strategy": "choose it by --strategy, when the model is made",
    "benchmark": "the data tell which it is",
    "path": "the folder of the model is given before the options",
    "say": "there is no such setting",
}
"""Names that a learner has another place for."""


def split_options(overrides: Iterable[str]) -> tuple[ModelOptions, dict[str, str]]:
    """The options of a model among settings, and the other settings by name.

    :param overrides: settings as ``"key=value"``.
    :raises SettingsError: if a value is wrong, or given twice.
    """
    given = key_values(overrides)
    for key in given.keys() & NOT_SETTINGS:
        raise SettingsError(f"{key}={given[key]}: {NOT_SETTINGS[key]}")
    own: dict[str, Any] = {
        key: given.pop(key) for key in ModelOptions.model_fields if key in given
    }
    try:
        return ModelOptions(**own), given
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        meaning = ModelOptions.model_fields[name]
        raise SettingsError(
            f"{name}={first['input']}: {first['msg'].lower()} "
            f"({meaning.description or name})"
        ) from None

"""Image folders."""

from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.benchmarks.images import (
    DEFAULTS,
    DEFAULTS_WITH,
    ImageSettings,
    build_image_features,
    build_image_model,
    build_images,
    image_plugins,
)
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Role


class FoldersSettings(ImageSettings):
    """Your own images: DATA/<domain>/<class>/*.jpg, *.png, ..."""

    domains: Annotated[int, Role.TASK] = Field(0, ge=0)
    """number of domains, the first ones in their order; 0: all"""
    order: Annotated[str | None, Role.TASK] = None
    """names of the domains, in the order to learn them, separated by commas; null: all,
    in natural order"""


FOLDERS = BenchmarkRecipe(
    "folders",
    "folders",
    FoldersSettings,
    build_images,
    build_image_model,
    defaults=DEFAULTS,
    defaults_with=DEFAULTS_WITH,
    plugins=image_plugins,
    build_features=build_image_features,
)

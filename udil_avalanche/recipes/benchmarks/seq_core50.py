"""Seq-CORe50."""

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


class SeqCORe50Settings(ImageSettings):
    """CORe50: 50 objects, its 11 sessions as domains."""

    memory: int = Field(500, ge=0)
    """samples kept of all past domains together"""
    domains: Annotated[int, Role.TASK] = Field(11, ge=1, le=11)
    """number of domains, sessions 1 to this"""
    objects: Annotated[int, Role.TASK] = Field(50, ge=2, le=50)
    """number of classes, objects 1 to this"""


SEQ_CORE50 = BenchmarkRecipe(
    "seq_core50",
    "Seq-CORe50",
    SeqCORe50Settings,
    build_images,
    build_image_model,
    data=("core50_128x128", "core50_32x32"),
    defaults={**DEFAULTS, "batch_size": 16, "memory_batch": 48},
    defaults_with=DEFAULTS_WITH,
    plugins=image_plugins,
    build_features=build_image_features,
)

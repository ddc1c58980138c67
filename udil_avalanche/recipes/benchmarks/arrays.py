"""Arrays."""

from typing import Annotated

from pydantic import Field

from udil_avalanche.recipes.benchmarks.domains import build_domains
from udil_avalanche.recipes.benchmarks.perceptron import build_perceptron
from udil_avalanche.recipes.recipe import BenchmarkRecipe
from udil_avalanche.recipes.settings import Before, Role, RunSettings, Was
from udil_avalanche.recipes.types import (
    DomainScenario,
    EncoderPredictor,
    Module,
    Tensor,
)


class ArraysSettings(RunSettings):
    """Your own arrays: one DATA/<domain>.npz for each domain, with x and y."""

    data: Annotated[str, Role.TASK] = "data"
    """folder with the arrays"""
    domains: Annotated[int, Role.TASK] = Field(0, ge=0)
    """number of domains, the first ones in their order; 0: all"""
    order: Annotated[str | None, Role.TASK] = None
    """names of the domains, in the order to learn them, separated by commas; null: all,
    in natural order"""
    test_share: Annotated[float, Role.TASK] = Field(0.2, gt=0, lt=1)
    """share of each domain that is held out for testing, unless a file has x_test and
    y_test"""
    stratified: Annotated[bool, Role.TASK] = False
    """hold the same share out of every class instead of out of the whole domain"""
    skip_invalid: Annotated[bool, Role.TASK, Was("skip_bad")] = False
    """leave out rows with numbers that are not finite and test samples of unknown
    classes, and count them, instead of refusing them"""
    standardise: Annotated[bool, Before(False)] = True
    """centre and scale each feature by the first domain's training samples; 8-bit
    inputs are scaled to [0, 1] instead"""


def _build_model(
    settings: ArraysSettings, benchmark: DomainScenario
) -> EncoderPredictor:
    from udil_avalanche.models import standardised

    model = build_perceptron(settings, benchmark)
    samples = _to_standardise_by(settings, benchmark)
    return model if samples is None else standardised(model, samples)


def _build_features(settings: ArraysSettings, benchmark: DomainScenario) -> Module:
    from collections import OrderedDict

    from torch import nn

    from udil_avalanche.models import Standardise

    samples = _to_standardise_by(settings, benchmark)
    if samples is None:
        return nn.Sequential(nn.Flatten())
    first = Standardise.from_samples(samples)
    return nn.Sequential(OrderedDict(input=first, flatten=nn.Flatten()))


def _to_standardise_by(
    settings: ArraysSettings, benchmark: DomainScenario
) -> Tensor | None:
    import torch

    from udil_avalanche.data.tensor_dataset import tensor_source

    if not settings.standardise:
        return None
    first = tensor_source(benchmark.train_stream[0].dataset)
    assert first is not None, "arrays are tensors"
    inputs = first.domain.inputs
    return None if inputs.dtype == torch.uint8 else inputs


ARRAYS = BenchmarkRecipe(
    "arrays",
    "arrays",
    ArraysSettings,
    build_domains,
    _build_model,
    build_features=_build_features,
    defaults={"epochs": 10, "batch_size": 64, "memory_batch": 64},
)

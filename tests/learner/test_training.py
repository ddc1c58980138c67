"""Domains learned one by one give the weights of one run over all of them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from udil_avalanche.errors import ModelError
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.reading import class_names, new_domain, read_samples
from udil_avalanche.learner.training import learn_domain
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.runs.experiment import run
from udil_avalanche.runs.run_folder import RunFolder

SEQUENTIAL = [name for name, recipe in METHODS.items() if not recipe.is_joint]


@pytest.mark.parametrize("strategy", SEQUENTIAL)
def test_versions_that_were_stored_in_between_equal_one_run(
    domains: Callable[[int], Path], tmp_path: Path, strategy: str
) -> None:
    root = domains(3)
    options = {"data": str(root), "output": str(tmp_path / "runs")}
    options |= {"epochs": 2, "hidden": 16}
    if METHODS[strategy].has_memory:
        options["memory"] = 30
    if strategy == "Ridge":
        options["random_features"] = 20
    settings = resolve(strategy, "arrays", options=options)
    run(settings)
    expected = load_file(RunFolder.of(settings).path / "model.safetensors")

    samples = read_samples(root)
    classes = class_names(samples)
    folder = ModelFolder(tmp_path / "model")
    for number, each in enumerate(samples, start=1):
        before = folder.version(number - 1) if number > 1 else None
        domain = new_domain(each, classes, reserve=200)
        version = learn_domain(
            before, domain, settings, classes, number=number, reserve=200
        )
        folder.write(version)

    # What predicts, and the sums that a classifier in closed form learns on with.
    weights = {**folder.version(3).state["model"], **folder.weights(3)}
    assert weights.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(weights[name], tensor), name


def test_the_random_generators_are_left_as_they_were(
    domains: Callable[[int], Path],
) -> None:
    samples = read_samples(domains(1))
    classes = class_names(samples)
    settings = resolve("ER", "arrays", options={"epochs": 1, "hidden": 8})
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    domain = new_domain(samples[0], classes, reserve=0)
    learn_domain(None, domain, settings, classes, number=1, reserve=0)
    assert torch.equal(torch.rand(3), expected)


def test_joint_training_says_that_it_cannot_learn_one_more(
    domains: Callable[[int], Path],
) -> None:
    samples = read_samples(domains(1))
    classes = class_names(samples)
    settings = resolve("Joint", "arrays", options={"epochs": 1})
    domain = new_domain(samples[0], classes, reserve=0)
    with pytest.raises(ModelError, match="all domains at once"):
        learn_domain(None, domain, settings, classes, number=1, reserve=0)

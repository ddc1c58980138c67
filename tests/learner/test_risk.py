"""Which domains an update puts at risk."""

import math

import pytest
import torch

from udil_avalanche.learner.risk import DomainRisk, ranked
from udil_avalanche.theory.bound import BoundEstimates
from udil_avalanche.theory.lemmas import cross_domain_bound


def risk(name="a", error=0.1, divergence=1.0, n_memory=100, new_error=0.3):
    return DomainRisk(name, error, divergence, n_memory, new_error)


def test_the_new_samples_bound_it_by_lemma_3_3():
    estimates = BoundEstimates(
        current_error=torch.tensor(0.0),
        past_error=torch.tensor([0.1]),
        current_disagreement=torch.tensor(0.3),
        past_disagreement=torch.tensor([0.0]),
        divergence=torch.tensor([0.4]),
        history_error=torch.tensor([0.1]),
        n_current=50,
        n_memory=torch.tensor([100]),
    )
    found = risk(divergence=0.4)
    expected = float(cross_domain_bound(estimates))
    assert found.error + found.by_new_samples == pytest.approx(expected)


def test_the_memory_bounds_it_by_its_size():
    assert risk().by_memory == pytest.approx(math.sqrt(math.log(40) / 200))
    assert risk(n_memory=0).by_memory == 1
    assert risk().bound == pytest.approx(0.1 + risk().by_memory)
    assert risk(n_memory=1, error=0.9, divergence=2.0).bound == 1


@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [
        ({"divergence": 0.2}, {"divergence": 1.8}),
        ({"n_memory": 200}, {"n_memory": 10}),
        ({"new_error": 0.05}, {"new_error": 0.6}),
        ({"divergence": 1.6, "new_error": 0.9}, {"divergence": 2.0, "new_error": 0.9}),
    ],
)
def test_what_puts_a_domain_at_risk(safe, unsafe):
    assert 0 < risk(**safe).score < risk(**unsafe).score <= 1


def test_the_order_is_that_of_the_scores():
    near, far = risk("near", divergence=0.1), risk("far", divergence=1.9)
    forgotten = risk("forgotten", divergence=1.9, n_memory=5)
    order = [each.name for each in ranked([near, far, forgotten])]
    assert order == ["forgotten", "far", "near"]

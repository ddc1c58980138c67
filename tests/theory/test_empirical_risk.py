"""Definition 3.1 and the goal of section 3 against loops."""

import pytest
import torch

from udil_avalanche.theory.empirical_risk import (
    disagreement,
    empirical_risks,
    total_error,
)


def test_empirical_risks_and_their_sum_against_loops() -> None:
    torch.manual_seed(0)
    predicted, labels = torch.randint(3, (40,)), torch.randint(3, (40,))
    domains = torch.randint(4, (40,))
    slow = []
    for i in range(4):
        mine = [j for j in range(40) if domains[j] == i]
        wrong = [j for j in mine if predicted[j] != labels[j]]
        slow.append(len(wrong) / len(mine))
    risks = empirical_risks(disagreement(predicted, labels), domains, 4)
    assert risks.tolist() == pytest.approx(slow)
    assert total_error(risks).item() == pytest.approx(sum(slow))


def test_a_domain_without_a_sample_counts_as_0() -> None:
    domains = torch.tensor([0, 0])
    assert empirical_risks(torch.ones(2), domains, 2).tolist() == [1, 0]

"""How much the past weighs."""

import pytest

from udil_avalanche.losses import novelty, objective_scale, past_scale


@pytest.mark.parametrize("t", [2, 5, 20])
def test_a_known_domain_gets_the_papers_sum_and_a_new_one_a_weight_of_two(
    t: int,
) -> None:
    assert past_scale(t, known=1.0) == 1
    assert t * past_scale(t, known=0.0) == pytest.approx(2)
    between = [past_scale(t, known) for known in (0.0, 0.3, 0.6, 0.9, 1.0)]
    assert between == sorted(between)


def test_the_objective_is_divided_by_the_root_of_its_weight() -> None:
    for t, scale in ((2, 1.0), (20, 0.1), (20, 1.0)):
        weight = 1 + scale * (t - 1)
        assert objective_scale(t, scale) == pytest.approx((3 / weight) ** 0.5)


def test_a_domain_is_new_as_far_as_it_is_not_known() -> None:
    assert [novelty(known) for known in (0.0, 0.5, 1.0)] == [1, 0.75, 0]

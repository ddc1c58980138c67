"""What the tests against all domains say together."""

import pytest

from udil_avalanche.learner.two_sample import TwoSampleTest
from udil_avalanche.learner.verdict import verdict

NEAR = TwoSampleTest(0.05, 0.0, 0.3, 0.4, 200, 50)
FAR = TwoSampleTest(1.4, 1.1, 1.7, 0.001, 200, 50)
DOUBTFUL = TwoSampleTest(0.3, 0.0, 1.2, 0.2, 3, 5)
TINY = TwoSampleTest(0.04, 0.01, 0.07, 0.001, 5000, 5000)
UNMEASURED = TwoSampleTest(2.0, 0.0, 2.0, 1.0, 1, 50)


def test_samples_like_the_latest_domain_are_nothing_new() -> None:
    found = verdict(tests={"spring": FAR, "summer": NEAR})
    assert (found.kind, found.nearest) == ("nothing new", "summer")
    assert found.possible == ("summer",)
    assert str(found) == "nothing new: like domain summer"


def test_samples_like_an_earlier_domain_say_that_it_is_back() -> None:
    found = verdict(tests={"spring": NEAR, "summer": FAR}, mix=FAR)
    assert (found.kind, found.nearest, found.is_new) == ("back", "spring", False)
    assert str(found) == "domain spring is back"


def test_samples_like_none_are_new() -> None:
    nearer = TwoSampleTest(0.8, 0.5, 1.1, 0.002, 200, 50)
    found = verdict(tests={"spring": nearer, "summer": FAR}, mix=FAR)
    assert (found.kind, found.nearest, found.possible) == ("new", "spring", ())
    assert found.p_value == 0.002
    assert "update" in str(found)


def test_a_mix_of_the_domains_is_nothing_new() -> None:
    found = verdict(tests={"spring": FAR, "summer": FAR}, mix=NEAR)
    assert (found.kind, found.nearest) == ("nothing new", None)
    assert str(found) == "nothing new: like all domains mixed"


def test_new_takes_every_test_and_alpha_is_not_divided() -> None:
    """One domain is not excluded, nineteen are: the samples may be of that one."""
    tests = {str(i): FAR for i in range(19)}
    assert verdict(tests={**tests, "last": NEAR}).kind == "nothing new"
    at_alpha = TwoSampleTest(1.4, 1.1, 1.7, 0.01, 200, 50)
    assert verdict(tests={**tests, "last": at_alpha}).is_new
    assert not verdict(tests={**tests, "last": at_alpha}, alpha=0.005).is_new


def test_few_samples_are_neither_new_nor_recognised() -> None:
    assert verdict(tests={"spring": DOUBTFUL, "summer": FAR}).kind == "unclear"
    assert verdict(tests={"spring": UNMEASURED}).kind == "unclear"
    assert "too few" in str(verdict(tests={"spring": UNMEASURED}))


def test_a_difference_that_does_not_matter_is_not_new() -> None:
    assert verdict(tests={"spring": TINY}).kind == "nothing new"


def test_of_equal_domains_the_latest_is_named() -> None:
    assert verdict(tests={"spring": NEAR, "summer": NEAR}).nearest == "summer"


def test_without_a_domain_there_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="no domain"):
        verdict(tests={})

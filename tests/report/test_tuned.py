"""Runs by the tuned settings have a name of their own."""

from pathlib import Path

from udil_avalanche.report.collect import collect
from udil_avalanche.report.searches import searches_below, without_finals
from udil_avalanche.report.seed_groups import seed_groups_of

RESULTS = Path(__file__).parents[2] / "results" / "hd_balls"


def test_udil_is_named_tuned_and_no_other_method_is() -> None:
    searches = searches_below([RESULTS.parent]).values()
    runs = without_finals(collect([RESULTS]).runs, searches)
    udil = [run for run in runs if run.method == "UDIL"]
    tuned = [group for group in seed_groups_of(udil) if group.variant == "tuned"]
    # With 200, 400 and 800 samples in memory.
    assert [group.seeds for group in tuned] == 3 * [[0, 1, 2]]
    others = [run for run in runs if run.method != "UDIL"]
    assert all(group.variant == "" for group in seed_groups_of(others))

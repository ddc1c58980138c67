"""What new samples are: known, a domain that is back, or a new domain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from udil_avalanche.learner.two_sample import TwoSampleTest

Kind = Literal["nothing new", "back", "new", "unclear"]

ALPHA = 0.01
"""How often samples of a domain in memory may be called new."""

SMALLEST_DIVERGENCE = 0.3
"""What a domain's divergence has to reach. With many samples even a difference that
nobody would update for is beyond chance, such as digits by other writers. At 0.3 a
classifier that is to tell the samples from the domain's is right about 57.5 %."""

LARGEST_DOUBT = 1.0
"""Samples are recognised only if the interval of the divergence ends below this, which
is half of the largest. With very few samples nothing is excluded, and that is no reason
to say that nothing is new."""


@dataclass(frozen=True)
class Verdict:
    """What the tests against all domains say together.

    :param kind: ``nothing new``: the samples are like the latest domain, or like all
        domains mixed. ``back``: they are like an earlier one. ``new``: they are like
        none. ``unclear``: there are too few samples to tell.
    :param nearest: the domain with the smallest divergence among those that are not
        excluded; of all, if all are. None for a mix.
    :param possible: the domains that are not excluded. Samples of a domain in memory
        are of one of these, in all but a share alpha of cases.
    :param p_value: how often samples of a domain in memory look as foreign: the largest
        p-value of all tests.
    """

    kind: Kind
    nearest: str | None
    possible: tuple[str, ...]
    p_value: float

    @property
    def is_new(self) -> bool:
        """Whether an update is called for."""
        return self.kind == "new"

    def __str__(self) -> str:
        if self.kind == "new":
            return "a new domain: update"
        if self.kind == "unclear":
            return "too few samples to tell"
        if self.kind == "back":
            return f"domain {self.nearest} is back"
        like = "all domains mixed" if self.nearest is None else f"domain {self.nearest}"
        return f"nothing new: like {like}"


def verdict(
    *,
    tests: Mapping[str, TwoSampleTest],
    mix: TwoSampleTest | None = None,
    alpha: float = ALPHA,
) -> Verdict:
    """Decide what the samples are.

    Samples are called new only if the tests exclude every domain, and the mix. This is
    the correction for testing several domains: whichever domain samples are of, its own
    test has to exclude it, which happens in a share alpha of cases however many domains
    there are (an intersection-union test). To divide alpha by the number of domains, as
    for a test that rejects if any does, would only make new domains harder to see.

    :param tests: new samples against each domain, in the order they were learned.
    :param mix: new samples against samples of all domains in equal parts.
    :param alpha: how often samples of a domain in memory may be called new.
    """
    if not tests:
        raise ValueError("There is no domain to compare with.")
    everything = [*tests.values(), *([] if mix is None else [mix])]
    possible = tuple(n for n, test in tests.items() if not _excluded(test, alpha))
    mixed = mix is not None and not _excluded(mix, alpha)
    p_value = max(test.p_value for test in everything)
    nearest: str | None = _nearest(tests, possible or tuple(tests))
    if not possible and not mixed:
        return Verdict("new", nearest, (), p_value)
    if not possible:
        nearest = None
    like = mix if nearest is None else tests[nearest]
    kind: Kind = "back"
    if like is None or not like.is_measured or like.high >= LARGEST_DOUBT:
        kind = "unclear"
    elif nearest is None or nearest == list(tests)[-1]:
        kind = "nothing new"
    return Verdict(kind, nearest, possible, p_value)


def _excluded(test: TwoSampleTest, alpha: float) -> bool:
    return test.p_value <= alpha and test.divergence >= SMALLEST_DIVERGENCE


def _nearest(tests: Mapping[str, TwoSampleTest], names: tuple[str, ...]) -> str:
    """The domain with the smallest divergence; the latest of equal ones."""
    best = min(
        reversed(names), key=lambda name: (tests[name].divergence, -tests[name].p_value)
    )
    return best

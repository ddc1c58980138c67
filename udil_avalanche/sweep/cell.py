"""Where a run belongs among the runs of a sweep."""

from dataclasses import dataclass

from udil_avalanche.formatting import in_parentheses


@dataclass(frozen=True)
class Cell:
    """What the runs of a sweep that differ in their seed have in common.

    :param strategy: how they learn.
    :param stream: what they learn: the name of a stream, or of a benchmark.
    :param variant: the name of their variant; empty if there are none.
    """

    strategy: str
    stream: str
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.strategy}{in_parentheses(self.variant)} on {self.stream}"

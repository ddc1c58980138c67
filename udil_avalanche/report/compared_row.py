"""A row of a comparison."""

from dataclasses import dataclass

from udil_avalanche.report import paper
from udil_avalanche.report.paired import Difference
from udil_avalanche.report.seed_groups import SeedGroup
from udil_avalanche.report.statistic import Statistic


@dataclass(frozen=True)
class ComparedRow:
    """A method, or a variant of it, on all streams.

    :param name: what the row is called.
    :param method: name of the method.
    :param groups: its runs by stream; a group may be empty.
    """

    name: str
    method: str
    groups: dict[str, SeedGroup]

    @property
    def is_continual(self) -> bool:
        """Whether it learns one domain after another, and so has a rank."""
        return not paper.is_joint(self.method)

    @property
    def has_memory(self) -> bool:
        """Whether it does so with samples of past domains."""
        return self.is_continual and paper.has_memory(self.method)

    def accuracy(self, stream: str) -> Statistic | None:
        """The average accuracy over the seeds; None if it was not measured.

        :param stream: name of the stream.
        """
        return self.groups[stream].figure("avg_acc")

    def minus(self, other: "ComparedRow", stream: str) -> Difference | None:
        """The average accuracy minus another row's, over the seeds that both have; None
        if there are none.

        :param other: the other row.
        :param stream: name of the stream.
        """
        ours, theirs = self._by_seed(stream), other._by_seed(stream)
        return Difference.of(
            [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        )

    def _by_seed(self, stream: str) -> dict[int, float]:
        found = {r.seed: r.metric("avg_acc") for r in self.groups[stream].runs}
        return {seed: value for seed, value in found.items() if value is not None}

"""How sure the differences between the methods of a table are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from udil_avalanche.report import paper
from udil_avalanche.report.comparison import OURS
from udil_avalanche.report.paired import Difference, holm, signed_rank_p
from udil_avalanche.report.ranks import LEVEL, Ranking, ranked
from udil_avalanche.report.tables import Row, Table


@dataclass(frozen=True)
class PairedTest:
    """A method minus another, paired by seed and domain.

    :param other: the name of the other method.
    :param difference: of the average accuracy, paired by seed.
    :param better: on how many pairs of a seed and a domain the method is better after
        the last domain.
    :param pairs: how many such pairs there are.
    :param p_value: of Wilcoxon's signed-rank test over these pairs, adjusted for the
        number of methods in the table.
    """

    other: str
    difference: Difference
    better: int
    pairs: int
    p_value: float

    @property
    def is_clear(self) -> bool:
        """Whether the test over pairs and the interval over seeds agree that one method
        is better; never with fewer than three seeds."""
        return self.p_value < LEVEL and self.difference.is_clear


@dataclass(frozen=True)
class PairedTests:
    """A method minus each other method of a table.

    :param method: the name of the method.
    :param tests: the tests, in the order of the table.
    """

    method: str
    tests: list[PairedTest]


def paired_tests(table: Table) -> PairedTests | None:
    """Test UDIL by its default, or if the table does not have it the best method,
    against the others, joint training aside.

    :param table: the table.
    :return: None if no two methods have a seed in common.
    """
    rows = [row for row in table.measured if not paper.is_joint(row.method)]
    if not rows:
        return None
    best = max(rows, key=lambda row: row.group.accuracy.mean)
    ours = next((row for row in rows if row.method == OURS), best)
    found = {
        row.name: by_seed
        for row in rows
        if row is not ours and (by_seed := _differences(ours, row))
    }
    p_values = holm([signed_rank_p(np.concatenate(d).tolist()) for d in found.values()])
    tests = []
    for (name, by_seed), p_value in zip(found.items(), p_values, strict=True):
        difference = Difference.of([float(each.mean()) for each in by_seed])
        assert difference is not None
        pairs = np.concatenate(by_seed)
        tests.append(
            PairedTest(name, difference, int((pairs > 0).sum()), len(pairs), p_value)
        )
    return PairedTests(ours.name, tests) if tests else None


def ranking_of(tables: Sequence[Table]) -> Ranking | None:
    """Rank the methods of some tables, joint training aside.

    :param tables: the tables; each is a task.
    :return: None if too few tables have all methods.
    """
    return ranked(
        {
            table.title: {
                row.name: row.group.accuracy.mean
                for row in table.measured
                if not paper.is_joint(row.method)
            }
            for table in tables
        }
    )


def _differences(one: Row, other: Row) -> list[npt.NDArray[np.float64]]:
    """For each seed that both have, the differences on the domains after the last."""
    first, second = (
        {run.seed: run.accuracy_matrix[-1] for run in row.group.runs}
        for row in (one, other)
    )
    return [first[seed] - second[seed] for seed in first if seed in second]

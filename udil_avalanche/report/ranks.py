"""Mean ranks of methods over several tasks, and which of them can be told apart.

As in J. Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal
of Machine Learning Research 7 (2006): Friedman's test with the correction of Iman and
Davenport, then Nemenyi's critical difference.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.05
FEWEST_TASKS, FEWEST_METHODS = 2, 3


@dataclass(frozen=True)
class Ranking:
    """Methods by their ranks on the same tasks.

    :param ranks: the ranks of each method, by its name, one for each task.
    :param tasks: the tasks.
    :param left_out: tasks on which a method was not measured.
    """

    ranks: dict[str, list[float]]
    tasks: list[str]
    left_out: list[str]

    @property
    def means(self) -> dict[str, float]:
        """The mean ranks, the best first."""
        found = {name: statistics.fmean(each) for name, each in self.ranks.items()}
        return dict(sorted(found.items(), key=lambda pair: pair[1]))

    @property
    def p_value(self) -> float:
        """How likely it is that ranks differ so much if all methods are equally good:
        Friedman's test."""
        return friedman_p(list(self.ranks.values()))

    @property
    def critical_difference(self) -> float:
        """Two methods whose mean ranks differ by less are not told apart."""
        return critical_difference(len(self.ranks), len(self.tasks))

    @property
    def cliques(self) -> list[list[str]]:
        """The largest groups of methods that are not told apart, the best first."""
        means = list(self.means.items())
        ends = [
            max(j for j, (_, far) in enumerate(means) if far - near <= self._reach)
            for _, near in means
        ]
        return [
            [name for name, _ in means[first : last + 1]]
            for first, last in enumerate(ends)
            if last > first and last > max(ends[:first], default=-1)
        ]

    @property
    def in_words(self) -> str:
        """Mean ranks, test and critical difference in a few sentences."""
        ranks = ", ".join(f"{name} {rank:.1f}" for name, rank in self.means.items())
        count = f"{len(self.tasks)} tasks ({'; '.join(self.tasks)})"
        left_out = ""
        if self.left_out:
            left_out = (
                f" Not counted: {'; '.join(self.left_out)}, where one is missing."
            )
        return (
            f"Mean ranks by the average accuracy over {count}: {ranks}. Friedman's "
            f"test: p = {self.p_value:.2g}. Nemenyi's critical difference at "
            f"{LEVEL:.0%}: {self.critical_difference:.1f}; methods whose mean ranks "
            f"are closer than that are not told apart.{left_out}"
        )

    @property
    def _reach(self) -> float:
        return self.critical_difference + 1e-9  # Means of ranks are rounded.


def ranked(accuracies: Mapping[str, Mapping[str, float]]) -> Ranking | None:
    """Rank methods on the tasks on which all of them are measured.

    :param accuracies: the mean accuracy of each method on each task, by the names of
        task and method.
    :return: None if there are fewer than two such tasks, or fewer than three methods.
    """
    names = list(dict.fromkeys(name for each in accuracies.values() for name in each))
    complete = {
        task: each for task, each in accuracies.items() if len(each) == len(names)
    }
    if len(complete) < FEWEST_TASKS or len(names) < FEWEST_METHODS:
        return None
    by_task = [ranks_of(each) for each in complete.values()]
    ranks = {name: [each[name] for each in by_task] for name in names}
    left_out = [task for task in accuracies if task not in complete]
    return Ranking(ranks, list(complete), left_out)


def ranks_of(means: Mapping[str, float]) -> dict[str, float]:
    """1 for the highest; equal ones share the mean of their ranks.

    :param means: what is ranked, by name.
    """
    found = {}
    for name, mean in means.items():
        higher = sum(other > mean for other in means.values())
        equal = sum(other == mean for other in means.values())
        found[name] = higher + (1 + equal) / 2
    return found


def friedman_p(ranks: Sequence[Sequence[float]]) -> float:
    """The p-value of Friedman's test in the form of Iman and Davenport.

    :param ranks: for each method its rank on each task.
    """
    from scipy import stats

    k, n = len(ranks), len(ranks[0])
    if all(len(set(of_task)) == 1 for of_task in zip(*ranks, strict=True)):
        return 1.0  # All methods are equal on every task.
    chi_squared = float(stats.friedmanchisquare(*ranks).statistic)
    rest = n * (k - 1) - chi_squared
    if rest <= 0:
        return 0.0  # The ranks are the same on every task.
    statistic = (n - 1) * chi_squared / rest
    return float(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)))


def critical_difference(methods: int, tasks: int) -> float:
    """Nemenyi's critical difference of two mean ranks, q sqrt(k (k + 1) / 6 N).

    :param methods: k, the number of methods.
    :param tasks: N, the number of tasks.
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - LEVEL, methods, math.inf) / math.sqrt(2)
    return float(q) * math.sqrt(methods * (methods + 1) / (6 * tasks))

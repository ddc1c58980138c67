"""Many tests at once."""

from collections.abc import Mapping
from typing import TypeVar

Name = TypeVar("Name")


def holm(p_values: Mapping[Name, float], *, alpha: float) -> list[Name]:
    """Holm's correction: the tests that reject, so that the chance that any of them is
    wrong is at most alpha. It rejects all that Bonferroni's does, and more.

    :param p_values: of each test, by name.
    :param alpha: the chance of one or more false rejections.
    :return: names, the smallest p-value first.
    """
    rejected: list[Name] = []
    for name in sorted(p_values, key=lambda each: p_values[each]):
        if p_values[name] > alpha / (len(p_values) - len(rejected)):
            break
        rejected.append(name)
    return rejected

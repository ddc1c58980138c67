"""Names of files and folders in natural order: numbers by their value."""

import re
from collections.abc import Iterable


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Key to sort numbers within names by their value: ``o2`` before ``o10``.

    :param name: the name.
    """
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
    ]


def natural(names: Iterable[str]) -> list[str]:
    """Sort names in natural order.

    :param names: the names.
    """
    return sorted(names, key=natural_key)

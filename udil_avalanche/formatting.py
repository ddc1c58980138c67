"""Numbers and settings as people read them."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any


def duration(seconds: float) -> str:
    """A rounded duration: 45 s, 6 min, 2.3 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def megabytes(amount: float | None) -> str:
    """A rounded amount of memory in MB, or a dash if it is unknown."""
    return "-" if amount is None else f"{amount:.0f} MB"


def percent(value: float | None, decimals: int = 1) -> str:
    """A percentage, or a dash if it is unknown."""
    return "-" if value is None else f"{value:.{decimals}f} %"


def number_list(numbers: Sequence[int]) -> str:
    """Whole numbers in order, with consecutive ones as a range: 0-2, 5."""
    ranges = []
    # In a range of consecutive numbers, number - position is constant.
    indexed = enumerate(sorted(set(numbers)))
    for _, consecutive in groupby(indexed, lambda pair: pair[1] - pair[0]):
        run = [number for _, number in consecutive]
        ranges.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(ranges)


def differing(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the settings that do not have the same value in all groups."""
    return [
        key
        for key in dict.fromkeys(key for group in groups for key in group)
        if any(group.get(key) != groups[0].get(key) for group in groups)
    ]


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Settings as ``key=value``, the way the command line takes them."""
    return [
        f"{key}={'null' if value is None else value}" for key, value in settings.items()
    ]


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """Settings as on the command line, separated by commas."""
    return ", ".join(assignments(settings))


def in_parentheses(text: str) -> str:
    """The text in parentheses after a space; empty if the text is empty."""
    return f" ({text})" if text else ""


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, in one line: names of folders, domains and
    classes may have any characters in them."""
    line = " ".join(text.split())
    return re.sub(r"[\\`*\[\]<>|#~$]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)


def markdown_code(text: str) -> str:
    """Text as Markdown's code, in one line."""
    line = " ".join(text.split())
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence, space = "`" * (longest + 1), " " * (longest > 0)
    return f"{fence}{space}{line}{space}{fence}"

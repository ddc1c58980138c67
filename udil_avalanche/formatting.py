"""Numbers, settings and benchmarks as people read them."""

from collections.abc import Mapping, Sequence
from typing import Any

TITLES = {
    "hd_balls": "HD-Balls",
    "permuted_mnist": "Permuted MNIST",
    "rotated_mnist": "Rotated MNIST",
    "seq_core50": "Seq-CORe50",
}
"""The benchmarks of the paper by their names there, in its order."""


def duration(seconds: float) -> str:
    """A duration, rounded: 45 s, 6 min, 2.3 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def megabytes(amount: float | None) -> str | None:
    """An amount of memory in MB, rounded; None if it is not known."""
    return None if amount is None else f"{amount:.0f} MB"


def number_list(numbers: Sequence[int]) -> str:
    """Whole numbers with stretches shortened: 0-2, 5."""
    stretches: list[list[int]] = []
    for number in sorted(set(numbers)):
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return ", ".join(
        str(stretch[0]) if len(stretch) == 1 else f"{stretch[0]}-{stretch[-1]}"
        for stretch in stretches
    )


def differing(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings in which some sets of them differ."""
    return [
        key
        for key in dict.fromkeys(key for group in groups for key in group)
        if any(group.get(key) != groups[0].get(key) for group in groups)
    ]


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """Settings as they are written on the command line, with commas between."""
    return ", ".join(
        f"{key}={'null' if value is None else value}" for key, value in settings.items()
    )


__all__ = [
    "TITLES",
    "differing",
    "duration",
    "megabytes",
    "number_list",
    "settings_in_words",
]

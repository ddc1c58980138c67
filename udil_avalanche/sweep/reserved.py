"""Settings that a sweep has a word of its own for."""

from collections.abc import Iterable

from udil_avalanche.errors import SettingsError
from udil_avalanche.recipes.resolve import plain_name

SAID_ELSEWHERE = {
    "strategy": "strategies",
    "benchmark": "benchmarks",
    "memory": "memory, an entry of the sweep",
    "seed": "seeds",
    "threads": "--threads",
    "output": "--output",
}


def refuse_reserved(names: Iterable[str], where: str) -> None:
    """Refuse settings that have to be said in another way.

    :param names: the settings, as written.
    :param where: where they are written.
    :raises SettingsError: if one of them belongs elsewhere.
    """
    for name in map(plain_name, names):
        if name in SAID_ELSEWHERE:
            raise SettingsError(f"{where}: say {name} by {SAID_ELSEWHERE[name]}")


__all__ = ["refuse_reserved"]

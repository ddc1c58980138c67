"""Names as people write them."""

import difflib
from collections.abc import Iterable

from udil_avalanche.errors import SettingsError


def nearest(name: str, known: Iterable[str], kind: str) -> str:
    """The known name that is meant; letter case, hyphens and underscores do not matter.

    :param name: what was written.
    :param known: the right names.
    :param kind: what they are names of, for the message.
    :raises SettingsError: if there is none; it suggests the most similar one.
    """
    plain, by_plain_name = plain_name(name), {plain_name(each): each for each in known}
    if plain in by_plain_name:
        return by_plain_name[plain]
    hint = "--help and --list show the right ones"
    for similar in difflib.get_close_matches(plain, by_plain_name, n=1, cutoff=0.5):
        hint = f"did you mean {by_plain_name[similar]}?"
    raise SettingsError(f"there is no {kind} '{name}': {hint}")


def plain_name(name: str) -> str:
    """A name in lower case, without hyphens and underscores."""
    return name.lower().replace("-", "").replace("_", "")

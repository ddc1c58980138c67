"""The experience that an experience is a part of."""

from typing import Any


def origin_experience(experience: Any) -> Any:
    """What an experience of an online stream was split from; any other experience is
    its own origin.

    Avalanche hides the origin from training by default, since there are methods that do
    without domains. Those that need to know where a domain begins have to look.

    :param experience: an experience of Avalanche.
    """
    if getattr(type(experience), "no_attribute_masking", None) is None:
        return experience
    with experience.no_attribute_masking():
        return getattr(experience, "origin_experience", experience)

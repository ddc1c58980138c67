"""A version without the samples of one of its domains."""

from dataclasses import replace
from typing import Any

import torch

from udil_avalanche.learner.version import Version


def without_domain(version: Version, name: str) -> Version:
    """A version whose memory and reserve have no sample of a domain. The weights stay
    as they are, and so does what they have learned of it.

    :param version: the version, which is not changed.
    :param name: the name of the domain; all is left as it is if there is none.
    """
    names = version.record.names
    if name not in names:
        return version
    position = names.index(name)
    plugins = {
        key: _without(state, position)
        for key, state in version.state["plugins"].items()
    }
    kept = [domain for domain in version.record.domains if domain.name != name]
    return replace(
        version,
        record=replace(version.record, domains=kept),
        state={**version.state, "plugins": plugins},
        reserves={
            key: reserve for key, reserve in version.reserves.items() if key != name
        },
    )


def _without(state: dict[str, Any], position: int) -> dict[str, Any]:
    """The state of a plugin without a domain, given by its position in the memory."""
    if "memory" in state:
        memory = state["memory"]
        kept = memory["domains"] != position
        left = memory["domains"][kept]
        fewer = {
            "fields": [field[kept] for field in memory["fields"]],
            "domains": left - (left > position).to(left.dtype),
            "n_domains": memory["n_domains"] - (memory["n_domains"] > position),
        }
        return {**state, "memory": {**memory, **fewer}}
    if "discriminator" in state:
        # It has an output for each domain, and starts again with the next one.
        return {
            **state,
            "discriminator": None,
            "optimizer": None,
            "divergence": torch.zeros(0),
        }
    return state

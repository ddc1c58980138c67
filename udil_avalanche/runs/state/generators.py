"""The random generators of Python, NumPy and torch."""

import random
from typing import Any

import numpy as np
import torch


def generator_states() -> dict[str, Any]:
    """The states of all global generators, in tensors and plain values."""
    version, internal, next_gauss = random.getstate()
    numpy_state: Any = np.random.get_state(legacy=True)
    kind, keys, position, has_gauss, cached_gauss = numpy_state
    states: dict[str, Any] = {
        "python": {
            "version": version,
            "internal": torch.tensor(internal),
            "next_gauss": next_gauss,
        },
        "numpy": {
            "kind": kind,
            "keys": torch.from_numpy(keys.astype(np.int64)),
            "position": position,
            "has_gauss": has_gauss,
            "cached_gauss": cached_gauss,
        },
        "torch": torch.get_rng_state(),
        "cuda": [],
        "mps": None,
    }
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_generator_states(states: dict[str, Any]) -> None:
    """Put the generators back to where :func:`generator_states` found them.

    :param states: what it returned. States of devices that this machine does not have
        are left out.
    """
    python, numpy = states["python"], states["numpy"]
    random.setstate(
        (python["version"], tuple(python["internal"].tolist()), python["next_gauss"])
    )
    np.random.set_state(
        (
            numpy["kind"],
            numpy["keys"].numpy().astype(np.uint32),
            numpy["position"],
            numpy["has_gauss"],
            numpy["cached_gauss"],
        )
    )
    torch.set_rng_state(states["torch"])
    if len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])
    if states["mps"] is not None and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["mps"])


__all__ = ["generator_states", "set_generator_states"]

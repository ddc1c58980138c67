"""The random generators of Python, NumPy and torch."""

import random
from typing import Any

import numpy as np
import torch

PYTHON = ("version", "internal", "next_gauss")
NUMPY = ("kind", "keys", "position", "has_gauss", "cached_gauss")
"""Names for the parts of the states that Python and NumPy return."""


def generator_states() -> dict[str, Any]:
    """The states of all global generators, in tensors and plain values."""
    python = dict(zip(PYTHON, random.getstate(), strict=True))
    numpy: dict[str, Any] = dict(zip(NUMPY, np.random.get_state(), strict=True))
    has_mps = torch.backends.mps.is_available()
    return {
        "python": python | {"internal": torch.tensor(python["internal"])},
        "numpy": numpy | {"keys": torch.from_numpy(numpy["keys"].astype(np.int64))},
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "mps": torch.mps.get_rng_state() if has_mps else None,
    }


def set_generator_states(states: dict[str, Any]) -> None:
    """Set the generators back to what :func:`generator_states` returned.

    :param states: what it returned. States of devices that this machine does not have
        are ignored.
    """
    python, numpy = dict(states["python"]), dict(states["numpy"])
    python["internal"] = tuple(python["internal"].tolist())
    numpy["keys"] = numpy["keys"].numpy().astype(np.uint32)
    random.setstate(tuple(python[name] for name in PYTHON))
    np.random.set_state(tuple(numpy[name] for name in NUMPY))
    torch.set_rng_state(states["torch"])
    if len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])
    if states["mps"] is not None and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["mps"])

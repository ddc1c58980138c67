"""Weights from files, read without running code in them."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

TRAINING_HEADS = ("AuxLogits.", "aux1.", "aux2.")
"""Parts of GoogLeNet and Inception that only their own training uses."""


def load_weights(path: str | Path) -> dict[str, Tensor]:
    """The state dict in a file.

    :param path: ``.safetensors``, or anything else that ``torch.save`` has written.
    :raises ValueError: if it holds something else.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"weights={path}: there is no such file")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError, EOFError) as error:
        raise ValueError(f"weights={path}: cannot be read ({error})") from error
    except Exception:  # Unpickling raises errors of any kind.
        state = None
    if not isinstance(state, dict) or not all(
        isinstance(value, Tensor) for value in state.values()
    ):
        raise ValueError(
            f"weights={path}: not a state dict: save one with "
            "torch.save(model.state_dict(), FILE)"
        )
    return state


def start_from(
    model: nn.Module, state: dict[str, Tensor], origin: object, name: str
) -> None:
    """Load weights into a network. A classifier for other classes is left out.

    :param model: the network; its classifier comes last.
    :param state: the weights.
    :param origin: where they come from, for messages.
    :param name: name of the network, for messages.
    :raises ValueError: if they are those of another network.
    """
    own = model.state_dict()
    classifier = list(own)[-1].rpartition(".")[0]
    fits = {
        key: value
        for key, value in state.items()
        if key in own and value.shape == own[key].shape
    }
    wrong = [
        key
        for key in (own.keys() | state.keys()) - fits.keys()
        if key.rpartition(".")[0] != classifier
        and not key.startswith(TRAINING_HEADS)
        and not key.endswith("num_batches_tracked")
    ]
    if wrong:
        raise ValueError(
            f"weights={origin}: not those of {name}: {len(wrong)} entries do not fit, "
            f"for instance {min(wrong)}"
        )
    model.load_state_dict(fits, strict=False)

"""Nested dictionaries of tensors and plain values, split for storage."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

MARK = "__tensor__"
"""The key that stands for a tensor in the plain part of a tree."""

PLAIN = (int, float, str, bool, type(None))
"""The leaves that stay as they are."""


def split(tree: Any) -> tuple[Any, dict[str, Tensor]]:
    """Take the tensors out of a tree of dictionaries and sequences.

    :param tree: its keys are strings; its leaves are tensors or values that JSON has.
    :return: the tree with a reference in place of each tensor, and the tensors by the
        names in the references, on the CPU.
    """
    tensors: dict[str, Tensor] = {}
    storages: set[int] = set()

    def visit(node: Any, path: str) -> Any:
        match node:
            case Tensor():
                tensor = node.detach().cpu().contiguous()
                # safetensors refuses two views of the same numbers.
                if tensor.untyped_storage().data_ptr() in storages:
                    tensor = tensor.clone()
                storages.add(tensor.untyped_storage().data_ptr())
                tensors[path] = tensor
                return {MARK: path}
            case Mapping():
                for key in node:
                    if not isinstance(key, str) or key == MARK:
                        raise TypeError(f"{path}: {key!r} cannot be a key of a state.")
                return {key: visit(node[key], f"{path}/{key}") for key in node}
            case list() | tuple():
                # Long lists of numbers, such as accuracies, are the rule.
                if all(type(item) in PLAIN for item in node):
                    return list(node)
                return [visit(item, f"{path}/{i}") for i, item in enumerate(node)]
            case None | bool() | int() | float() | str():
                return node
        raise TypeError(f"{path}: a {type(node).__name__} cannot be part of a state.")

    return visit(tree, ""), tensors


def join(plain: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The inverse of :func:`split`; tuples come back as lists.

    :param plain: the tree with references.
    :param tensors: the tensors that they refer to.
    """
    match plain:
        case dict():
            if MARK in plain:
                return tensors[plain[MARK]]
            return {key: join(value, tensors) for key, value in plain.items()}
        case list():
            return [join(item, tensors) for item in plain]
    return plain

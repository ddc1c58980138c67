"""References to names in docstrings.

Docstrings name things by where they are defined, while the pages show them by where
they are imported from. A name of ours has to exist: it leads to its page if there is
one, and is plain text otherwise. Names of other packages are plain text.
"""

import re
from importlib import import_module
from typing import Any

import numpy.typing as npt
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PACKAGE = "udil_avalanche"


def find(name: str) -> Any:
    """What a full name stands for; ``None`` if there is no such thing.

    :param name: the name, with its modules.
    """
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:count]))
            for attribute in parts[count:]:
                found = getattr(found, attribute)
        except (ImportError, AttributeError):
            continue
        return found
    return None


def full_names(node: pending_xref) -> list[str]:
    """What a reference may mean: a full name, or one in the module whose docstring it
    is in.

    :param node: the reference.
    """
    target = str(node["reftarget"])
    if target.startswith(f"{PACKAGE}."):
        return [target]
    place = re.search(r"docstring of ([\w.]+)", node.source or "")
    parts = place.group(1).split(".") if place else []
    return [".".join([*parts[:end], target]) for end in range(len(parts), 0, -1)]


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.Element | None:
    """Resolve what Sphinx could not.

    :param app: the build.
    :param env: all pages.
    :param node: the reference.
    :param text: what is shown.
    :return: a link or plain text; ``None`` leaves it unresolved, which is a warning.
    """
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    if "." in target and not target.startswith(f"{PACKAGE}."):
        return text
    for name in full_names(node):
        found = find(name)
        if found is None:
            continue
        places = [
            f"{getattr(found, '__module__', '')}.{getattr(found, '__qualname__', '')}",
            f"{PACKAGE}.{name.rpartition('.')[2]}",
        ]
        python = env.domains.python_domain
        for place in places:
            if place in python.objects:
                page = node["refdoc"]
                return python.resolve_xref(
                    env, page, app.builder, "obj", place, node, text
                )
        return text
    return None


def shorten_types(app: Sphinx, what: Any, bound_method: bool) -> None:
    """Call NumPy's union of all that becomes an array by its name.

    :param app: the build.
    :param what: a function whose signature is about to be shown.
    :param bound_method: not needed.
    """
    annotations = getattr(what, "__annotations__", {})
    for name, annotation in annotations.items():
        if annotation == npt.ArrayLike:
            annotations[name] = "ArrayLike"


def setup(app: Sphinx) -> dict[str, Any]:
    """Resolve references after Sphinx has tried."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-before-process-signature", shorten_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

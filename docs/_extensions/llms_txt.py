"""Writes ``llms.txt`` beside the site: every page with its title and first sentence."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LEAST_CHARACTERS = 60
"""A shorter sentence is followed by the next: it may be no more than a citation."""


def first_sentence(app: Sphinx, page: str) -> str:
    """What a page is about: the beginning of its first paragraph.

    :param app: the build.
    :param page: the page's name.
    """
    doctree = app.env.get_and_resolve_doctree(page, app.builder)
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            said, *others = re.split(r"(?<=[.?!]) (?=[A-Z])", text)
            while others and len(said) < LEAST_CHARACTERS:
                said += " " + others.pop(0)
            return said.rstrip(":")
    return ""


def sections(app: Sphinx) -> list[tuple[str, list[str]]]:
    """The captions of the front page's tables of contents, and the pages below each,
    those that a page lists itself included.

    :param app: the build.
    """
    front = app.env.get_doctree(app.config.root_doc)
    listed = [
        (tree.get("caption") or "Pages", [page for _, page in tree["entries"]])
        for tree in front.findall(addnodes.toctree)
    ]
    below = app.env.toctree_includes
    return [
        (caption, [each for page in pages for each in (page, *below.get(page, []))])
        for caption, pages in listed
    ]


def index(app: Sphinx) -> str:
    """The text of the file.

    :param app: the build.
    """
    lines = [
        f"# {app.config.project}",
        "",
        f"> {first_sentence(app, app.config.root_doc)}",
    ]
    for caption, pages in sections(app):
        lines += ["", f"## {caption}", ""]
        for page in pages:
            title = app.env.titles[page].astext()
            said = first_sentence(app, page)
            address = app.builder.get_target_uri(page)
            lines.append(f"- [{title}]({address})" + (f": {said}" if said else ""))
    return "\n".join(lines) + "\n"


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write the file when the pages are done.

    :param app: the build.
    :param failure: what went wrong, if anything.
    """
    if failure is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(index(app), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write it at the end of a build."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

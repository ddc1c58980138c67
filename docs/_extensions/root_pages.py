"""Pages of the site whose text is a file in the root of the repository.

``docs/results.md`` holds only a link, which is enough on GitHub. Here the page becomes
the whole of ``RESULTS.md``.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FILES = {
    "results": "RESULTS.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "security": "SECURITY.md",
}


def adapt(text: str) -> str:
    """The text of a file in the root as that of a page below ``docs``.

    :param text: Markdown.
    """
    # Anchors in HTML are not seen by the check of links, those of MyST are.
    text = re.sub(r'<a id="([^"]+)"></a>', r"(\1)=\n", text)
    # The folders of the runs and the licence are not a part of the site.
    text = re.sub(r"\[([^\]]+)\]\((?:results/[^)]*|LICENSE)\)", r"\1", text)
    for page, file in FILES.items():
        text = text.replace(f"]({file})", f"]({page}.md)")
    return text.replace("](docs/", "](")


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the text of a page.

    :param app: the build.
    :param page: its name.
    :param source: its text, the only element.
    """
    if page in FILES:
        file = Path(app.srcdir).parent / FILES[page]
        app.env.note_dependency(str(file))
        source[0] = adapt(file.read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Replace texts as they are read."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

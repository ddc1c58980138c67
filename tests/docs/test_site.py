"""The site builds without a warning, is complete, and needs no network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sphinx.util.inventory import InventoryFile

import udil_avalanche

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what the browser loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and "stylesheet" in given.get("rel", ""):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    places = ["-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    done = subprocess.run([*command, *places], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html")}


def test_every_public_name_has_a_place_in_the_reference(site: Path) -> None:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    names = {
        name
        for kind, found in inventory.data.items()
        if kind.startswith("py:")
        for name, item in found.items()
        if item.uri.startswith("api/")
    }
    last = {name.rpartition(".")[2] for name in names}
    assert set(udil_avalanche.__all__) <= last


def test_links_lead_to_pages_and_anchors_of_the_site(
    site: Path, pages: dict[Path, Page]
) -> None:
    assert len(pages) > 40
    checked = 0
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = file.parent / unquote(parts.path) if parts.path else file
            target = target.resolve()
            assert target.is_file(), f"{file.relative_to(site)}: {link}"
            if parts.fragment and target in pages:
                anchors = pages[target].anchors
                assert unquote(parts.fragment) in anchors, f"{file.name}: {link}"
            checked += 1
    assert checked > 1000


def test_nothing_is_loaded_from_another_host(
    site: Path, pages: dict[Path, Page]
) -> None:
    loaded = [source for page in pages.values() for source in page.loaded]
    assert loaded and not [each for each in loaded if urlsplit(each).netloc]
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text())


def test_equations_are_written_without_a_script(pages: dict[Path, Page]) -> None:
    [text] = [file.read_text() for file in pages if file.name == "equations.html"]
    assert text.count("<math ") > 50
    assert "mathjax" not in text.lower()


def test_the_search_knows_the_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")
    for word in ("forget", "rollback", "supcon", "domainlearner"):
        assert word in index


def test_the_index_for_language_models_lists_every_page(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    assert text.startswith("# udil_avalanche\n\n> A classifier meets new domains")
    listed = {unquote(each) for each in re.findall(r"\]\(([^)]+\.html)\)", text)}
    sources = [
        file for end in ("md", "rst", "ipynb") for file in DOCS.rglob(f"*.{end}")
    ]
    built = {
        file.relative_to(DOCS).with_suffix(".html").as_posix()
        for file in sources
        if "_build" not in file.parts
    }
    assert listed == built - {"index.html"}

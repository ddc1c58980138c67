"""The history of a model: its lines of versions, and its page in a real browser."""

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image

from tests.report.test_page import in_browser
from udil_avalanche.learner.history import (
    History,
    accuracy,
    has_changed,
    learned,
    mean_accuracy,
)
from udil_avalanche.learner.history_page import history_page
from udil_avalanche.learner.model_folder import ModelFolder
from udil_avalanche.learner.version import DomainRecord, Version, VersionRecord
from udil_avalanche.recipes import as_dict
from udil_avalanche.recipes.resolve import resolve

ASIDE = "<winter> 6.0 points: more than 1"


def version(
    number: int,
    parent: VersionRecord | None,
    domain: str,
    accuracies: dict[str, float],
    **changed: Any,
) -> VersionRecord:
    """A version as an update leaves it, with made-up accuracies."""
    before = {} if parent is None else parent.changes
    changes: dict[str, Any] = {}
    for name, after in accuracies.items():
        was = before.get(name, {}).get("after")
        changes[name] = {"n": 50, "before": was, "after": after}
        if was is not None:
            ends = {"low": after - was - 2, "high": after - was + 2}
            changes[name] |= ends
    earlier = [] if parent is None else parent.domains
    record = VersionRecord(
        number=number,
        parent=None if parent is None else parent.number,
        created=f"2026-0{number}-01T12:00:00+00:00",
        domain=domain,
        domains=[*earlier, DomainRecord(domain, 300, 50, number)],
        classes=["cat", "dog"],
        input_shape=[3],
        input_type="float32",
        reserve=50,
        data=str(number),
        settings=as_dict(resolve("UDIL", "arrays")),
        changes=changes,
        measured={
            "omega": {each.name: [0.2, 0.3, 0.5] for each in earlier},
            "divergence": {each.name: 1.25 for each in earlier},
        }
        if earlier
        else {},
    )
    return replace(record, **changed)


@pytest.fixture
def records() -> list[VersionRecord]:
    """1 and 2 led to 4, which is in use; 3 was set aside; 5 and 6 were left by going
    back."""
    one = version(1, None, "<winter>", {"<winter>": 90.0})
    two = version(2, one, "$pring", {"<winter>": 88.5, "$pring": 80.0})
    bad = {"<winter>": 70.0, "$pring": 81.0, "autumn": 95.0}
    three = version(3, two, "autumn", bad, aside=ASIDE)
    good = {"<winter>": 88.5, "$pring": 85.0, "summer": 91.5}
    four = version(4, two, "summer", good)
    more = {"<winter>": 60.0, "$pring": 61.0, "summer": 62.0, "rain": 63.0}
    five = version(5, four, "rain", more)
    six = version(6, five, "snow", {**more, "snow": 64.0})
    return [one, two, three, four, five, six]


@pytest.fixture
def model(records: list[VersionRecord], tmp_path: Path) -> Path:
    """The same on disk."""
    folder = ModelFolder(tmp_path / "my model")
    for record in records:
        weights = {"w": torch.full((2,), float(record.number))}
        folder.write(Version(record, weights, {}, {}, {}))
    folder.make_current(4)
    return folder.path


def test_the_line_leads_to_the_version_in_use(records: list[VersionRecord]) -> None:
    history = History(records, current=4)
    assert [record.number for record in history.line] == [1, 2, 4]
    assert [history.state(record) for record in records] == [
        "",
        "",
        f"set aside: it costs {ASIDE}",
        "in use",
        "not in use",
        "not in use",
    ]
    names = ["<winter>", "$pring", "autumn", "summer", "rain", "snow"]
    assert history.domains == names


def test_accuracies_are_those_on_the_reserves(records: list[VersionRecord]) -> None:
    two, four = records[1], records[3]
    assert accuracy(two, "$pring") == 80.0 and accuracy(two, "summer") is None
    assert mean_accuracy(two) == (88.5 + 80.0) / 2
    assert mean_accuracy(replace(two, changes={})) is None
    assert [has_changed(four, name) for name in four.names] == [0, 1, 0]
    assert has_changed(records[2], "<winter>") == -1
    domain = learned(four)
    assert domain is not None and domain.name == "summer"
    assert learned(replace(four, domains=two.domains)) is None, "it was forgotten"


def test_a_history_of_one_version_without_a_reserve_has_a_page() -> None:
    only = version(1, None, "d0", {}, reserve=0)
    text = history_page(History([only], 1), "model")
    assert "Nothing is held out" in text
    assert "Divergences" not in text and "Omega" not in text
    assert text.count("<img") == 1


def test_the_page_needs_no_other_file_and_quotes_names(model: Path) -> None:
    text = history_page(History.of(ModelFolder(model)), "my model")
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "<script" not in text and "@import" not in text and "<winter>" not in text
    sources = re.findall(r'<img[^>]* src="([^"]*)" alt="[^"]+"', text)
    assert len(sources) == text.count("<img") == 4
    assert all(source.startswith("data:image/svg+xml") for source in sources)
    assert text == history_page(History.of(ModelFolder(model)), "my model")


def test_domains_that_were_forgotten_are_named(records: list[VersionRecord]) -> None:
    removed = [replace(record, forgotten=["$pring"]) for record in records]
    text = history_page(History(removed, 4), "model")
    assert "removed on request: $pring." in text


def test_a_browser_shows_every_version(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    page.write_text(history_page(History.of(ModelFolder(model)), "my model"))
    shown = html.unescape(in_browser(page, tmp_path / "profile", "--dump-dom"))
    assert "Version 4 is in use." in shown and "{{" not in shown
    versions, _, accuracies = shown.partition('id="accuracies"')
    rows = re.findall(r"<tr class=\"([\w-]+)\"><td>(\d)</td><td>(.)</td>", versions)
    assert rows == [
        ("before", "1", "-"),
        ("before", "2", "1"),
        ("beside", "3", "2"),
        ("in-use", "4", "2"),
        ("beside", "5", "4"),
        ("beside", "6", "5"),
    ]
    assert f"set aside: it costs {ASIDE}" in versions
    assert re.search(r'70\.0 <span class="worse">▼', accuracies)
    assert re.search(r'85\.0 <span class="better">▲', accuracies)


def test_a_browser_draws_the_pictures(model: Path, tmp_path: Path) -> None:
    page, screenshot = tmp_path / "history.html", tmp_path / "screenshot.png"
    page.write_text(history_page(History.of(ModelFolder(model)), "my model"))
    window = "--window-size=1280,3200"
    in_browser(page, tmp_path / "profile", window, f"--screenshot={screenshot}")
    pixels = np.asarray(Image.open(screenshot).convert("RGB")).astype(int)

    def count(color: Any) -> int:
        wanted = 255 * np.array(to_rgb(color))
        return int((np.abs(pixels - wanted).max(axis=-1) < 12).sum())

    assert count("#d62728") > 100, "the version in use"
    assert count(colormaps["viridis"](0.0)) > 100, "the curve of the first domain"
    assert count(colormaps["viridis"](1.25 / 2)) > 3000, "divergences"
    assert count(colormaps["viridis"](0.5)) > 3000, "gamma"


@pytest.mark.parametrize("width", [1280, 400])
def test_only_tables_and_pictures_scroll_sideways(
    model: Path, tmp_path: Path, width: int
) -> None:
    text = history_page(History.of(ModelFolder(model)), "my model")
    measure = (
        "<script>document.body.append(`width ${document.body.scrollWidth}`)</script>"
    )
    page = tmp_path / "measured.html"
    # A window cannot be as narrow as a telephone.
    text = text.replace("<body>", f"<body style='width: {width}px'>")
    page.write_text(text.replace("</body>", f"{measure}</body>"))
    shown = in_browser(page, tmp_path / "profile", "--dump-dom")
    found = re.search(r"width (\d+)\s", shown)
    assert found is not None and int(found[1]) <= width

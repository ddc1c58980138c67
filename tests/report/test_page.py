"""The page of the report, also in a real browser."""

import html
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from udil_avalanche.cli.main import main
from udil_avalanche.recipes import METHODS
from udil_avalanche.recipes.resolve import resolve
from udil_avalanche.report.collect import collect
from udil_avalanche.report.rerun_commands import rerun_command
from udil_avalanche.runs.run_folder import RunFolder, versions

BROWSER = shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def report(all_methods: Path) -> Path:
    file = all_methods.parent / "pages" / "report.html"
    assert main(["report", str(all_methods), "--html", str(file)]) == 0
    return file


def in_browser(page: Path, profile: Path, *options: str) -> str:
    if BROWSER is None:
        pytest.skip("there is no chromium to look at the page with")
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_page_needs_no_other_file(report: Path) -> None:
    text = report.read_text()
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "<script" not in text and "@import" not in text
    sources = re.findall(r'<img src="([^"]*)"', text)
    assert len(sources) == 6
    assert all(source.startswith("data:image/") for source in sources)
    assert len(re.findall(r'<img src="[^"]*" alt="[^"]+"', text)) == len(sources)


def test_every_figure_leads_to_its_runs_and_their_commands(report: Path) -> None:
    text = report.read_text()
    n = len(METHODS)
    anchors = set(re.findall(r'id="([^"]+)"', text))
    targets = re.findall(r'href="#([^"]+)"', text)
    assert set(targets) <= anchors
    to_groups = [target for target in targets if target.startswith("cell-")]
    assert len(to_groups) == 2 * n - 1 + 2, "in the table, and of the best method"
    commit = str(versions()["commit"] or "unknown")[:10]
    assert text.count(f'<td class="text">{commit}') == 3 * n
    folders = re.findall(r'<td class="text"><a href="([^"]+)">', text)
    assert len(folders) == 3 * n
    for folder in folders:
        assert (report.parent / unquote(folder) / "result.json").exists()
    assert len(re.findall(r"<code>python run_experiments.py ", text)) == 3 * n


def test_figures_over_ranges_of_domains_lead_to_their_runs(
    make_run: Any, tmp_path: Path
) -> None:
    make_run("ER", "rotated_mnist")
    file = tmp_path / "report.html"
    assert main(["report", str(tmp_path), "--html", str(file)]) == 0
    text = file.read_text()
    headings = re.findall(r"<th>(?:A<sub>)([\d:]+)</sub></th>", text)
    assert headings == ["1:5", "6:10", "11:15", "16:20"]
    [er] = re.findall(r'<tr><th class="text">ER</th>.*?</tr>', text, re.DOTALL)
    cells = re.findall(r'<td class="figure rank-\d">(.*?)</td>', er)
    assert len(cells) == 6
    for cell in cells:
        ours, theirs = r'<a href="#cell-[^"]+">[\d.]+</a>', r"[\d.]+ ± [\d.]+"
        difference = r'<span class="">[+-][\d.]+</span>'
        assert re.fullmatch(f"{ours}<small>{theirs}{difference}</small>", cell)


def test_the_command_repeats_the_same_run(make_run: Any, tmp_path: Path) -> None:
    make_run("UDIL", lambda_d=7.5, cross_domain_threshold=None, seed=3, memory=200)
    make_run("Joint", "rotated_mnist", train_per_domain=500)
    make_run("ER", "folders", domains=2, root="my photos", threads=2)
    for run in collect([tmp_path]).runs:
        _, script, *arguments = shlex.split(rerun_command(run))
        assert script == "run_experiments.py"
        names = {"--strategy": "", "--benchmark": "", "--memory": "", "--seed": ""}
        overrides = [argument for argument in arguments if "=" in argument]
        options = [argument for argument in arguments if "=" not in argument]
        names |= dict(zip(options[::2], options[1::2], strict=True))
        settings = resolve(
            names["--strategy"],
            names["--benchmark"],
            options={
                key: names[f"--{key}"]
                for key in ("memory", "seed")
                if names[f"--{key}"]
            },
            overrides=overrides,
        )
        assert RunFolder.of(settings).path.name == run.folder.name
        assert settings.data == run.written_settings["data"]
        assert settings.threads == run.written_settings["threads"]


def test_the_same_runs_give_the_same_page(make_run: Any, tmp_path: Path) -> None:
    make_run("UDIL", domains=3)
    pages = [tmp_path / "first.html", tmp_path / "second.html"]
    for page in pages:
        assert main(["report", str(tmp_path), "--html", str(page)]) == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_what_is_missing_is_shown_as_missing(make_run: Any, tmp_path: Path) -> None:
    folder = make_run("ER", "rotated_mnist", memory=200)
    (folder / "embeddings.json").unlink()
    (folder / "metrics.jsonl").unlink()
    file = tmp_path / "report.html"
    assert main(["report", str(tmp_path), "--html", str(file)]) == 0
    text = file.read_text()
    assert text.count('<tr class="missing">') == 11
    commands = re.findall(r"<li>.*<code>(python run_experiments.py .*)</code>", text)
    assert len(commands) == 11
    missing = "--strategy UDIL --benchmark rotated_mnist --memory 200 --seed 0"
    assert f"python run_experiments.py {missing}" in commands
    assert "<li>HD-Balls, 400 samples in memory: 14 figures (GEM, A-GEM, " in text
    assert "Embeddings" not in text and "Coefficients" not in text
    # After each domain but the last it has 80 + 5 * 20 / 19 percent.
    assert len(re.findall(r'<td class="figure rank-1"><a [^>]*>85.3</a>', text)) == 3


def test_the_embeddings_are_those_of_the_first_seed_that_has_them(
    make_run: Any, tmp_path: Path
) -> None:
    folders = [make_run("ER", domains=3, seed=seed) for seed in (0, 1)]
    file = tmp_path / "report.html"
    for folder, shown in zip(folders, (True, False), strict=True):
        (folder / "embeddings.json").unlink()
        assert main(["report", str(tmp_path), "--html", str(file)]) == 0
        assert ("Embeddings" in file.read_text()) == shown


def test_a_browser_shows_the_page(report: Path, tmp_path: Path) -> None:
    shown = html.unescape(in_browser(report, tmp_path / "profile", "--dump-dom"))
    assert "Use UDIL: after the last domain its average accuracy" in shown
    assert shown.count("<tr") > 12 + 36
    assert "{{" not in shown and "{%" not in shown


def test_a_browser_draws_the_pictures(report: Path, tmp_path: Path) -> None:
    screenshot = tmp_path / "screenshot.png"
    window = "--window-size=1280,5000"
    in_browser(report, tmp_path / "profile", window, f"--screenshot={screenshot}")
    pixels = np.asarray(Image.open(screenshot).convert("RGB")).astype(int)
    assert pixels.shape == (5000, 1280, 3)

    def count(red: int, green: int, blue: int) -> int:
        distance = np.abs(pixels - [red, green, blue]).max(axis=-1)
        return int((distance < 12).sum())

    assert count(0xD6, 0x27, 0x28) > 500, "UDIL's curve and bar"
    assert count(0x1F, 0x77, 0xB4) > 500, "ER's, and the points of a label"
    assert count(68, 1, 84) > 200, "the dark end of the colours of domains"

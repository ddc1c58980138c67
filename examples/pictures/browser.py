"""A page as a browser shows it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--no-first-run", "--disable-background-networking", "--disable-sync"),
)


def photograph(page: Path, picture: Path, width: int, height: int) -> None:
    """Save what a window shows of a page.

    :param page: the HTML file.
    :param picture: the PNG file.
    :param width: of the window, in pixels.
    :param height: of the window, in pixels.
    :raises RuntimeError: if there is no browser, or it fails.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RuntimeError(f"install one of {', '.join(BROWSERS)} for {picture.name}")
    with tempfile.TemporaryDirectory() as profile:
        places = [f"--user-data-dir={profile}", f"--screenshot={picture.resolve()}"]
        size = f"--window-size={width},{height}"
        command = [found, *FLAGS, *places, size, page.resolve().as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode or not picture.exists():
        raise RuntimeError(f"{found} could not show {page}: {done.stderr[-500:]}")

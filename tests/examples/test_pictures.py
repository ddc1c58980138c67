import sys
from pathlib import Path

import pytest
from PIL import Image

from examples.cameras import CAMERAS
from examples.cameras import main as cameras
from examples.pictures.__main__ import main
from examples.pictures.figures import contact_sheet, save
from examples.pictures.retelling import ROOT, Step, commands_of, retell
from examples.pictures.terminal import recording

PAGE = """# A page

```console
$ echo one
stale
$ echo two; \\
    exit 3
```

Text between.

```sh
echo not run
```
"""


def test_a_page_is_retold(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    steps = retell(page, tmp_path)
    assert [step.output for step in steps] == ["one\n", "two\nexit code 3\n"]
    text = page.read_text()
    assert (
        "$ echo one\none\n\n$ echo two; \\\n    exit 3\ntwo\nexit code 3\n```" in text
    )
    assert "stale" not in text and "echo not run\n" in text
    retell(page, tmp_path)
    assert page.read_text() == text


def test_a_page_whose_command_fails_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("exit 3", "exit 2"))
    before = page.read_text()
    with pytest.raises(RuntimeError, match="exit code 2"):
        retell(page, tmp_path)
    assert page.read_text() == before


def test_commands_find_the_package_and_the_examples(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ python -c 'import examples, sys; print(sys.prefix)'\n```"
    )
    assert retell(page, tmp_path)[0].output == f"{sys.prefix}\n"


def test_a_recording_needs_no_other_file() -> None:
    svg = recording([Step("udil-run history", "version 1 < 2\n")], "history")
    assert svg.startswith("<svg") and "udil-run&#160;history" in svg
    assert "@font-face" not in svg and "url(http" not in svg


def test_cameras_are_folders_of_different_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "cameras"
    assert main_of_cameras(root, "2") == 0
    files = [file.stem for file in root.rglob("*.png")]
    assert len(files) == len(set(files)) == 60, "no image is in two folders"
    assert sorted(folder.name for folder in root.iterdir()) == list(CAMERAS)
    sheet = contact_sheet(root)
    assert sheet.size == (10 * 56, 3 * 56)
    assert len({sheet.getpixel((4, 4 + 56 * line)) for line in range(3)}) == 3
    save(sheet, tmp_path / "sheet.png")
    assert Image.open(tmp_path / "sheet.png").size == sheet.size
    assert main_of_cameras(root, "200") == 1
    assert "at most 166 for each camera" in capsys.readouterr().err


def main_of_cameras(root: Path, per_digit: str) -> int:
    return cameras([str(root), "--per-digit", per_digit])


def test_the_tutorial_has_commands_and_small_pictures() -> None:
    commands = commands_of((ROOT / "docs" / "tutorial.md").read_text())
    for verb in ("learn", "inspect", "update", "evaluate", "predict", "export"):
        assert any(command.startswith(f"udil-run {verb} ") for command in commands)
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert picture.stat().st_size < 200_000, picture.name


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pictures"])
    assert "there are results, tutorial, notebook" in capsys.readouterr().err

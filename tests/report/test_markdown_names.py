"""Names of data folders in a report are text, whatever characters they have."""

from pathlib import Path
from typing import Any

from udil_avalanche.report.collect import collect
from udil_avalanche.report.markdown import markdown
from udil_avalanche.report.tables import tables_of


def test_a_folder_cannot_make_headings_or_links(write_run: Any, tmp_path: Path) -> None:
    write_run("ER", "arrays", tmp_path, data="my *data* <b> [x](y) `z`", domains=3)
    found = collect([tmp_path])
    text = markdown(tables_of(found.runs), found, tmp_path)
    [heading] = [line for line in text.splitlines() if "samples in memory" in line][:1]
    assert r"my \*data\* \<b\> \[x\](y) \`z\`" in heading

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examples.core50_stand_in import main, make_core50_sample


def test_the_stand_in_follows_its_seed_and_its_domains_shift(
    core50_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--sessions", "1", "--objects", "2", "--frames", "5", "--size", "32"]
    assert main([str(tmp_path), *arguments]) == 0
    assert "10 images" in capsys.readouterr().out
    name = "core50_128x128/s1/o2/C_01_02_003.png"
    assert (tmp_path / name).read_bytes() == (core50_root / name).read_bytes()
    assert main([str(tmp_path), *arguments, "--seed", "1"]) == 0
    assert (tmp_path / name).read_bytes() != (core50_root / name).read_bytes()

    def colours(session: int, k: int) -> Any:
        at = core50_root / f"core50_128x128/s{session}"
        images = [np.asarray(Image.open(f)) for f in sorted(at.glob(f"o*/*_00{k}.png"))]
        return np.stack(images).mean(axis=(0, 1, 2))

    means = np.stack([colours(s, 0) for s in range(1, 12)])
    again = np.stack([colours(s, 1) for s in range(1, 12)])
    between = np.linalg.norm(means[:, None] - means, axis=2)[np.triu_indices(11, 1)]
    within = np.linalg.norm(means - again, axis=1)
    assert np.median(between) > 10 * np.median(within)


def test_it_never_replaces_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "core50_128x128").mkdir()
    with pytest.raises(FileExistsError, match="not a stand-in"):
        make_core50_sample(tmp_path)
